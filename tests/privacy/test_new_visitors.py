"""Visitors that a person has used since the erasure was asked for."""

from datetime import datetime, timezone
from pathlib import Path

from pyspark.sql import SparkSession

from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.delta.delta_tables import Lakehouse
from privacy.erasure.selection import with_new_visitors
from privacy.identities import Person

SPANS = (("phone", "ann"), ("tablet", "ann"), ("tablet", "ben"), ("kiosk", "eve"), ("stranger", "eve"))


def test_visitors_that_a_user_has_by_now_are_of_the_person(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    at = datetime(2026, 11, 2, tzinfo=timezone.utc)
    rows = [{"visitor_id": visitor, "user_id": user, "valid_from": at} for visitor, user in SPANS]
    append_rows(tmp_path, "silver.identities", rows)
    lake = Lakehouse(spark.newSession(), settings, "erase")
    known = Person(frozenset({"ann"}), frozenset({"ann", "phone", "stranger"}))
    found = with_new_visitors(lake.spark, lake, known)
    assert found.users == {"ann"}
    assert found.visitors == {"ann", "phone", "tablet", "stranger"}
    assert found.shared == {"tablet", "stranger"}, "stranger has logged in as eve since"
    assert with_new_visitors(lake.spark, lake, Person(frozenset(), frozenset({"guest"}))).visitors == {
        "guest"
    }
