"""Credit metrics, computed over handmade frames."""

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import polars as pl
from metrics import attribution
from period import Period
from query_scope import Scope
from tables.polars_query import ask_frame
from tables.query import Query
from tables.table_cache import Ask

from kit.warehouse_builder import schema_of

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SCOPE = Scope(Period(NOON - timedelta(days=1), NOON + timedelta(days=1)))


def asking(rows: Iterable[dict[str, Any]]) -> Ask:
    """Runs queries on rows of gold.attribution."""
    schema = schema_of("gold.attribution")
    frame = pl.LazyFrame([{name: row.get(name) for name in schema} for row in rows], schema)

    def ask(query: Query) -> pl.DataFrame:
        return ask_frame(frame, query).collect()

    return ask


def test_refunds_reduce_credited_value_but_not_conversions() -> None:
    same = {"model": "linear", "channel": "Email", "converted_at": NOON, "credit": 0.5}
    rows = [
        {**same, "is_counted": counted, "credited_reporting_value": Decimal(value)}
        for counted, value in ((True, 10), (None, 5), (False, -4))
    ]
    found = attribution.credited(asking(rows), SCOPE, "channel").to_dicts()
    assert found == [{"label": "Email", "model": "linear", "conversions": 1.0, "reporting_value": 11.0}]


def test_conversion_without_touch_is_listed_with_no_touches() -> None:
    same = {"model": "linear", "channel": "Email", "converted_at": NOON}
    three = [{**same, "conversion_id": "a", "position": position, "credit": 1 / 3} for position in (1, 2, 3)]
    without = {**same, "conversion_id": "b", "position": 0, "credit": 1.0, "channel": "Direct"}
    found = attribution.conversions_behind(asking([*three, without]), SCOPE, "linear")
    assert dict(found.select("conversion_id", "touches").rows()) == {"a": 3, "b": 0}
