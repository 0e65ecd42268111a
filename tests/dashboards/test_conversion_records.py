"""The conversion page shows the records behind a conversion: coordinates, time received, raw bytes."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from kit.oracle_home import oracle_home
from kit.shop_warehouse import Shop
from kit.shown import said
from millrace.trace.records import COUNTED, trace


def test_records_of_the_page_are_those_of_bronze(open_page: Any, tmp_path: Path) -> None:
    shop = Shop(datetime(2026, 3, 22, 14, 5, tzinfo=timezone.utc), days=1, events=600, seed=5)
    settings = oracle_home(tmp_path, shop.stored)
    conversion = max(shop.oracle.gold.conversions, key=lambda row: row["touches"])["conversion_id"]
    page = open_page(tmp_path, "conversion", conversion=conversion)
    assert not any("offset" in each.value for each in page.dataframe)
    page.toggle(key="records").set_value(True).run()
    assert not page.exception
    (records,) = (each.value for each in page.dataframe if "offset" in each.value)
    stored = {each.offset: each.record for each in shop.stored if each.record.topic == "events"}
    assert len(records) > 0
    raw = dict(line.split("  ", 1) for line in page.code[0].value.splitlines())
    for row in records.to_dict("records"):
        of_row = stored[row["offset"]]
        assert raw[f"events/0/{row['offset']}"].encode() == of_row.value
        assert row["received"].to_pydatetime() == of_row.timestamp
    traced = trace(settings, "gold.conversions", [conversion]).records
    counted = [each for each in traced if each.part == COUNTED]
    assert {each.place.offset for each in counted} <= set(records["offset"])
    assert f"millrace trace gold.conversions {conversion}" in said(page)
