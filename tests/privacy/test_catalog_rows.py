"""The export of a person from a catalog, through Spark, has the rows of the export from the same folders."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kit.customer_rows import new_records, tables_of_shop
from kit.oracle import Oracle
from kit.oracle_identities import persons_of
from kit.pipeline import run_jobs
from kit.records import Bronze
from kit.scenarios import cut, rush_events, story_events
from kit.spark import catalog_in, empty_home, forget_tables
from kit.warehouse_builder import append_rows
from lakehouse.rows.row_json import row_json
from lakehouse.settings import Settings
from millrace.operations.person_export import rows_of_person

pytestmark = pytest.mark.long

STORIES = 20


@pytest.fixture(scope="module")
def bronze(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bronze]:
    """Shared devices, changed logins and bots, in a catalog; some records are not refined yet."""
    settings = catalog_in(spark, empty_home(spark, tmp_path_factory.mktemp("home")))
    bronze = Bronze(spark, settings)
    *refined, new = cut([*story_events(STORIES), *rush_events()])
    for records in refined:
        bronze.commit(records)
    run_jobs(spark, settings)
    bronze.commit(new)
    yield bronze
    forget_tables(spark)


def exported(settings: Settings, users: Sequence[str], visitors: Sequence[str]) -> list[str]:
    with rows_of_person(settings, users, visitors) as rows:
        return sorted(json.dumps([name, row_json(row).decode()]) for name, row in rows)


def test_catalog_and_folders_export_the_same_rows(bronze: Bronze) -> None:
    in_folders = bronze.settings.model_copy(update={"catalog": None})
    events = Oracle.over(bronze.stored).events
    users = {event["user_id"] for event in events} - {None}
    tables = set()
    for person in sorted(set(persons_of(events).values()))[::7]:
        who = ([person], []) if person in users else ([], [person])
        expected = exported(in_folders, *who)
        assert exported(bronze.settings, *who) == expected != []
        tables |= {json.loads(each)[0] for each in expected}
    assert tables >= {"bronze.kafka_records", "silver.events", "silver.identities", "gold.attribution"}


def test_unknown_person_has_no_rows(bronze: Bronze) -> None:
    assert exported(bronze.settings, ["nobody-at-all"], []) == []


def test_rows_of_the_shop_are_those_of_the_folders(spark: SparkSession, tmp_path: Path) -> None:
    tables = tables_of_shop()
    for name, rows in {
        **tables,
        "bronze.kafka_records": tables["bronze.kafka_records"] + new_records(),
    }.items():
        append_rows(tmp_path, name, rows)
    settings = catalog_in(spark, empty_home(spark, tmp_path))
    for name in tables:
        place = settings.warehouse.joinpath(*name.split("."))
        spark.sql(f"CREATE TABLE spark_catalog.{name} USING delta LOCATION '{place}'")
    expected = exported(settings.model_copy(update={"catalog": None}), ["42"], [])
    assert exported(settings, ["42"], []) == expected
    forget_tables(spark)
    assert {json.loads(each)[0] for each in expected} == {*tables} - {"ops.ledger"}
