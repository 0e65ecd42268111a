"""Bots on page Audience, where there are more than can be excluded."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from metrics import audience

from kit.shown import said
from kit.warehouse_builder import append_rows

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(("excluded", "counted"), [(3, {"person"}), (2, {"person", "first"})])
def test_bots_found_last_are_excluded_and_page_says_if_others_are_counted(
    excluded: int, counted: set[str], tmp_path: Path, open_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("first", "second", "third")
    visits = [
        {"visitor_id": name, "entry_url": name, "started_at": NOON, "ended_at": NOON, "page_views": 1}
        for name in ("person", *names)
    ]
    append_rows(tmp_path, "silver.sessions", visits)
    bots = [{"visitor_id": name, "since": NOON + place * SECOND} for place, name in enumerate(names)]
    append_rows(tmp_path, "silver.bots", bots)
    monkeypatch.setattr(audience, "BOTS", excluded)
    page = open_page(tmp_path, "audience", period="All")
    entries = next(table.value for table in page.dataframe if "page" in table.value)
    assert set(entries["page"]) == counted
    assert (f"only the {excluded} found last are left out" in said(page)) == (len(counted) > 1)
