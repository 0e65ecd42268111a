"""Persons of a home whose conversions are older than the columns of credit and consent."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from gold.cohorts.persons import Persons
from gold.credit.dimensions import DimensionLoader
from kit.spark import empty_home
from kit.warehouse_builder import build_warehouse
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.timestamps import EPOCH

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def conversion(name: str, person: str, value: int, **more: Any) -> dict[str, Any]:
    who = {"conversion_id": name, "event_id": name, "visitor_id": person, "person_id": person}
    return {**who, "converted_at": NOON + timedelta(hours=1), "reporting_value": Decimal(value), **more}


def test_conversions_from_before_the_columns_of_consent_count(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    touch = {"touch_id": "t", "event_id": "t", "visitor_id": "ann", "touched_at": NOON, "channel": "Email"}
    refused = {"is_credited": False, "has_analytics_consent": True}
    rows = [
        conversion("old", "ann", 100),
        conversion("new", "ann", -30, is_credited=True, has_analytics_consent=True),
        conversion("of order", "ann", -5, **refused),
        conversion("without touch", "ben", 7),
        conversion("uncredited", "cat", 9, **refused),
        conversion("uncounted", "dan", 9, is_credited=True, has_analytics_consent=False),
    ]
    build_warehouse(tmp_path, {"gold.touches": [{**touch, "earns_credit": True}], "gold.conversions": rows})
    lake = Lakehouse(spark, settings, "publish")
    found = Persons(lake, "UTC").all_rows(DimensionLoader(lake).load_all(EPOCH))
    persons = {row.person_id: (row.channel, row.value_7) for row in found.collect()}
    assert persons == {"ann": ("Email", 70), "ben": ("Direct", 7)}
