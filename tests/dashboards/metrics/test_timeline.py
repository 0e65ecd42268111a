"""The timeline of a visitor on the page Conversion, and how long one look-up takes."""

import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from metrics.timeline import timeline
from tables.delta_backend import LocalTables
from tables.query import Query

from kit.shop_warehouse import Shop
from kit.warehouse_builder import append_rows
from lakehouse.contracts.timeline import VISITOR_TIMELINE, bucket_of

ROWS, PER_VISITOR, LOOK_UPS = 1_000_000, 20, 30
FASTEST = 0.05  # seconds, of one look-up


def test_conversion_page_shows_the_timeline_of_its_visitor(
    open_page: Any, shop: Shop, shop_home: Path
) -> None:
    conversion = shop.tables["gold.conversions"][0]
    query = {"conversion": conversion["conversion_id"], "timeline": "true"}
    page = open_page(shop_home, "conversion", **query)
    theirs = [
        row["at"]
        for row in shop.tables[VISITOR_TIMELINE.name]
        if row["visitor_id"] == conversion["visitor_id"]
    ]
    shown = next(table.value for table in page.dataframe if "kind" in table.value.columns)
    assert list(shown["at"]) == sorted(theirs)


@pytest.mark.long
def test_look_up_among_a_million_rows_takes_50_ms(tmp_path: Path) -> None:
    visitors = [f"visitor-{number}" for number in range(ROWS // PER_VISITOR)]
    for bucket in range(16):
        mine = [each for each in visitors if bucket_of(each) == bucket]
        rows = [
            {"bucket": bucket, "visitor_id": each, "entry_id": f"{each}-{number}", "kind": "event"}
            for each in mine
            for number in range(PER_VISITOR)
        ]
        append_rows(tmp_path, VISITOR_TIMELINE.name, rows)
    backend = LocalTables(tmp_path / "warehouse")
    version = backend.version(VISITOR_TIMELINE.name)
    assert version is not None

    def ask(query: Query) -> pl.DataFrame:
        return backend.run(query, version)

    seconds = []
    for each in visitors[:: len(visitors) // LOOK_UPS]:
        began = time.perf_counter()
        assert timeline(ask, each, False).height == PER_VISITOR
        seconds.append(time.perf_counter() - began)
    assert sorted(seconds)[len(seconds) // 2] < FASTEST
