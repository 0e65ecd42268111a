"""Customers of the shop's database are erased with all their rows, and stay erased."""

import json
from collections.abc import Collection
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from folds.shop.row_history import DELETE, INSERT, Change
from kit.dying import dying_at
from kit.erased_worlds import files_with
from kit.oracle_shop import KeptTable, Sent
from kit.pipeline import read_rows, run_jobs
from kit.records import Bronze, Record
from kit.shop_records import BEGAN, TOPIC, change, expected_customers
from kit.spark import empty_home
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from millrace.audit.comparisons import audit_tables
from millrace.operations.erase import erase_job
from millrace.tables.table_scan import reading, scan
from privacy.erasure.work_folder import WorkFolder
from privacy.identities import Person
from privacy.requests.register import Register
from shop.rebuild_definitions import DEFINITIONS

ERASED = ("user-3", "user-5")
COLUMNS = ("customer_id", "plan", "valid_from", "valid_to", "lsn", "row")
NOW = datetime.now(timezone.utc)
LATER = (NOW.timestamp() + 3600) * 1e6
ORDERS, NOTES = "public.orders", "public.notes"


def customers() -> KeptTable:
    table, random = KeptTable(), Random(3)
    keys = [f"user-{number}" for number in range(8)]
    table.commit([("insert", key, "free", "note") for key in keys], 1)
    table.log.clear()
    table.snapshot()
    for _ in range(30):
        key, plan = random.choice(keys), random.choice(["free", "pro"])
        table.commit([("delete", key) if random.random() < 0.2 else ("insert", key, plan, "n")], 5)
    return table


def row(table: str, key: str, values: dict[str, str | None], lsn: int = 9) -> Record:
    return change(Sent(key, Change(lsn, 1, INSERT, 1, {"id": key, **values})), table)


def other_rows() -> list[Record]:
    """Orders and notes of two customers; a product whose name is an id of one; tombstones; a bad record."""
    owners = ("user-3", "user-4")
    return [
        *(row(ORDERS, f"order-{each}", {"customer_id": each, "value": "9"}) for each in owners),
        *(row(NOTES, f"note-{each}", {"writer": each}) for each in owners),
        row("public.products", "p1", {"name": "user-3"}),
        *(tombstone("public.customers", each) for each in owners),
        Record(b'{"customer": "user-3"', topic=TOPIC),
        Record(b'{"customer": "user-4"', topic=TOPIC),
    ]


def tombstone(table: str, key: str) -> Record:
    return Record(None, topic=TOPIC, key=json.dumps(["shop", table, {"id": key}]).encode())


def without(table: KeptTable, users: Collection[str]) -> KeptTable:
    left = KeptTable()
    left.log = [each for each in table.log if each.key not in users]
    return left


def rows_of(settings: Settings) -> list[dict[str, Any]]:
    return sorted(read_rows(settings, "silver.customers", COLUMNS), key=repr)


def erase(spark: SparkSession, settings: Settings, users: Collection[str]) -> None:
    person = Person(frozenset(users), frozenset(users))
    request = Register(settings.home).open(person.identities, "letter", NOW, timedelta(days=30)).id
    Register(settings.home).start_erasure(request, (), NOW)
    WorkFolder(settings.home, request).start(person)
    job = erase_job(request)
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))


def wrong(settings: Settings) -> list[str]:
    with reading(settings):
        bronze = scan(settings, "bronze.kafka_records")
        assert bronze is not None
        return [each.detail for each in audit_tables(settings, bronze) if not each.is_right]


def columns_of(settings: Settings, table: str, *names: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(each.values()) for each in read_rows(settings, table, names)), key=repr)


@pytest.fixture
def bronze(spark: SparkSession, tmp_path: Path) -> Bronze:
    return Bronze(spark, empty_home(spark, tmp_path / "home"))


@pytest.mark.long
def test_customers_are_erased_and_stay_so(bronze: Bronze) -> None:
    spark, settings, table = bronze.spark, bronze.settings, customers()
    bronze.commit([*map(change, table.log), *other_rows()])
    run_jobs(spark, settings, "dimensions")
    assert rows_of(settings) == expected_customers(table)
    before = len(read_rows(settings, "bronze.kafka_records", ("offset",)))
    erase(spark, settings, ERASED)
    left = without(table, ERASED)
    is_as_if_they_never_were(settings, left)
    assert files_with(settings.home, [ERASED[1]]) == {}
    assert {file.split("/")[1] for file in files_with(settings.home / "warehouse", [ERASED[0]])} == {
        *("kafka_records", "shop_changes", "products")  # the name of a product
    }
    assert len(read_rows(settings, "bronze.kafka_records", ("offset",))) == before
    # copies, late changes, a delete and a tombstone from after the erasure
    late = row(ORDERS, "order-late", {"customer_id": "user-5"})
    gone = change(Sent("user-5", Change(10**6, 1, DELETE, int((LATER - BEGAN) / 1e6), None)))
    copies = [change(each) for each in table.log if each.key in ERASED]
    bronze.commit([*copies, late, gone, tombstone("public.customers", "user-5")])
    run_jobs(spark, settings, "dimensions")
    is_as_if_they_never_were(settings, left)
    assert files_with(settings.home / "warehouse" / "silver", [ERASED[1]]) == {}
    job = rebuild_job(DEFINITIONS, tuple(DEFINITIONS))
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    is_as_if_they_never_were(settings, left)
    # a customer who comes back, and leaves again
    for kind in (INSERT, DELETE):
        values = {"id": "user-5", "plan": "pro", "note": "n"} if kind == INSERT else None
        again = Sent(
            "user-5", Change(2 * 10**6 + (kind == DELETE), 1, kind, int((LATER - BEGAN) / 1e6) + 1, values)
        )
        left.log.append(again)
        bronze.commit([change(again)])
        run_jobs(spark, settings, "dimensions")
        assert rows_of(settings) == expected_customers(left)
    assert wrong(settings) == []


@pytest.mark.long
def test_changes_of_an_interrupted_batch_are_erased(bronze: Bronze) -> None:
    spark, settings, table = bronze.spark, bronze.settings, customers()
    bronze.commit([change(each) for each in table.log if each.key != "user-5"])
    run_jobs(spark, settings, "dimensions")
    bronze.commit([change(each) for each in table.log if each.key == "user-5"])
    with dying_at("silver.customers"):
        run_jobs(spark, settings, "dimensions")
    erase(spark, settings, ["user-5"])
    bronze.commit([row(ORDERS, "order-new", {"customer_id": "user-4", "value": "9"})])
    run_jobs(spark, settings, "dimensions")
    assert files_with(settings.home, ["user-5"]) == {}
    assert rows_of(settings) == expected_customers(without(table, ["user-5"]))
    assert wrong(settings) == []


def is_as_if_they_never_were(settings: Settings, left: KeptTable) -> None:
    assert rows_of(settings) == expected_customers(left)
    assert columns_of(settings, "silver.orders", "order_id") == [("order-user-4",)]
    assert columns_of(settings, "silver.products", "name") == [("user-3",)]
    changes = columns_of(settings, "silver.shop_changes", "source_table", "row_key")
    assert [key for name, key in changes if name == NOTES] == ['{"id":"note-user-4"}']
    assert columns_of(settings, "silver.rejected_changes", "value") == [(b'{"customer": "user-4"',)]
    assert wrong(settings) == []
