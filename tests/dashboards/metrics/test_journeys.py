"""Times from the first touch to the conversion, with any look-back."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from metrics.journeys import Journeys, journeys
from period import Period
from query_scope import Scope
from tables.polars_query import ask_frame
from tables.query import Query

from kit.warehouse_builder import append_rows, schema_of

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def journeys_of(*rows: dict[str, Any]) -> Journeys:
    """Journeys of counted conversions at noon, from rows of gold.attribution."""
    schema = schema_of("gold.attribution")
    same = {"model": "linear", "channel": "Email", "converted_at": NOON, "is_counted": True}
    frame = pl.LazyFrame([{name: (same | row).get(name) for name in schema} for row in rows], schema)

    def ask(query: Query) -> pl.DataFrame:
        return ask_frame(frame, query).collect()

    return journeys(ask, Scope(Period(NOON - DAY, NOON + DAY)), frozenset())


def times(*waits: timedelta) -> dict[str, int]:
    """Conversions by band, after these times since their only touch."""
    rows = (
        {"conversion_id": str(number), "position": 1, "touched_at": NOON - wait}
        for number, wait in enumerate(waits)
    )
    return dict(journeys_of(*rows).times.iter_rows())


def test_conversion_without_touch_counts_with_no_touches() -> None:
    three = [{"conversion_id": "a", "position": position, "touched_at": NOON} for position in (1, 2, 3)]
    found = journeys_of(*three, {"conversion_id": "b", "position": 0, "channel": "Direct"})
    assert (found.conversions, found.touches, found.single) == (2, 1.5, 1)
    assert dict(found.paths.select("path", "touches").rows()) == {"Email › Email › Email": 3, "no touch": 0}


def test_conversion_after_more_than_30_days_has_a_band_of_its_own() -> None:
    found = times(DAY / 2, 30 * DAY, 30.5 * DAY, 89 * DAY)
    assert {name: count for name, count in found.items() if count} == {
        "within a day": 1,
        "15–30 days": 1,
        "over 30 days": 2,
    }


def test_band_over_30_days_is_left_out_without_conversions() -> None:
    assert list(times(DAY / 2))[-1] == "15–30 days"


def test_touches_are_those_of_the_look_back(
    open_page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "rules.yml").write_text("look_back: P90D\n")
    monkeypatch.setattr("lakehouse.bundle_file.bundle_root", lambda: tmp_path)
    append_rows(tmp_path, "silver.sessions", [{"started_at": NOON, "ended_at": NOON}])
    page = open_page(tmp_path, "journeys", period="All")
    touches = next(each for each in page.metric if each.label == "Touches per conversion")
    assert touches.help == "Touches in the 90 days before, on average."
