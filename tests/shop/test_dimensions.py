"""The job dimensions: any order of arrival, copies, crashes and repeated batches give the same versions."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.dying import dying_at
from kit.oracle_shop import KeptTable, Sent
from kit.pipeline import read_rows, run_jobs
from kit.records import Bronze, Record, message, record
from kit.shop_records import TOPIC, change, expected_customers
from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import rebuild_job
from lakehouse.settings import Settings
from shop.rebuild_definitions import DEFINITIONS

COLUMNS = ("customer_id", "plan", "valid_from", "valid_to", "lsn", "row")


def customers_with_a_history() -> KeptTable:
    """Customers with two snapshots, long values, moved keys, deletes and a truncate."""
    table, random = KeptTable(), Random(4)
    keys = [str(number) for number in range(12)]
    table.commit([("insert", key, "free", "long") for key in keys[:6]], 1)
    table.log.clear()
    table.snapshot()
    for number in range(60):
        statements: list[tuple[Any, ...]] = [
            random.choice(
                [
                    ("insert", random.choice(keys), "free", "long"),
                    ("update", random.choice(keys), random.choice(["free", "pro"]), None),
                    ("update", random.choice(keys), "pro", "other"),
                    ("delete", random.choice(keys)),
                    ("move", random.choice(keys), random.choice(keys)),
                ]
            )
            for _ in range(3)
        ]
        table.commit(statements, random.choice([0, 1, 60]), rolled_back=random.random() < 0.1)
        if number == 30:
            table.snapshot()
        if number == 45:
            table.commit([("truncate",)], 1)
    return table


def commit(bronze: Bronze, sent: Sequence[Sent], *more: Record) -> None:
    bronze.commit([*(change(each) for each in sent), *more])


def customers(settings: Settings) -> list[dict[str, Any]]:
    return sorted(read_rows(settings, "silver.customers", COLUMNS), key=repr)


@pytest.mark.long
def test_versions_do_not_depend_on_the_way_changes_arrive(spark: SparkSession, tmp_path: Path) -> None:
    settings, table = empty_home(spark, tmp_path), customers_with_a_history()
    bronze, arrived = Bronze(spark, settings), Random(1).sample(table.log, len(table.log))
    third = len(arrived) // 3
    tombstone = Record(None, topic=TOPIC, key=b"key")
    bad = [record(text, topic=TOPIC) for text in (b"", b"no", b'{"lsn": 1}')]
    commit(bronze, arrived[:third], tombstone, *bad, record(message("e", "v")))
    run_jobs(spark, settings, "dimensions", "refine")
    commit(bronze, [*arrived[third : 2 * third], *arrived[:9]])
    with dying_at("silver.customers"):
        run_jobs(spark, settings, "dimensions")
    run_jobs(spark, settings, "dimensions")
    commit(bronze, arrived[2 * third :])
    run_jobs(spark, settings, "dimensions")
    assert customers(settings) == expected_customers(table)
    rows = read_rows(settings, "silver.customers", ("version_id",))
    assert len({row["version_id"] for row in rows}) == len(rows)
    assert len(read_rows(settings, "silver.shop_changes", ("lsn",))) == len(table.log) + 9
    reasons = [row["reason"] for row in read_rows(settings, "silver.rejected_changes", ("reason",))]
    assert sorted(reasons) == ["bad_change", "empty", "not_json"]
    assert len(read_rows(settings, "silver.events", ("event_id",))) == 1
    assert read_rows(settings, "silver.rejected_events", ("reason",)) == []
    before = {name: all_rows(settings, name) for name in DEFINITIONS}
    job = rebuild_job(DEFINITIONS, tuple(DEFINITIONS))
    job.body(JobContext(job.name, spark.newSession(), settings, once=True))
    assert {name: all_rows(settings, name) for name in DEFINITIONS} == before


def test_changes_that_arrive_after_a_crash_are_no_part_of_the_repeated_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings, table = empty_home(spark, tmp_path), customers_with_a_history()
    bronze, half = Bronze(spark, settings), len(table.log) // 2
    commit(bronze, table.log[:half], record(b"no", topic=TOPIC))
    with dying_at("silver.customers"):
        run_jobs(spark, settings, "dimensions")
    commit(bronze, table.log[half:])
    run_jobs(spark, settings, "dimensions")
    assert customers(settings) == expected_customers(table)
    assert len(read_rows(settings, "silver.shop_changes", ("lsn",))) == len(table.log)
    assert len(read_rows(settings, "silver.rejected_changes", ("reason",))) == 1


def test_late_version_changes_the_rows_around_it_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    settings, table = empty_home(spark, tmp_path), KeptTable()
    bronze = Bronze(spark, settings)
    table.snapshot()
    for plan in ("free", "pro", "team"):
        table.commit([("insert", "1", plan, "n"), ("update", "1", plan, "n"), ("insert", "2", plan, "n")], 60)
    late = next(each for each in table.log if each.change.row and each.change.row["plan"] == "pro")
    commit(bronze, [each for each in table.log if each is not late])
    run_jobs(spark, settings, "dimensions")
    assert [row["plan"] for row in customers(settings)] == ["free", "team", "free"]
    commit(bronze, [late])
    run_jobs(spark, settings, "dimensions")
    assert customers(settings) == expected_customers(table)


def all_rows(settings: Settings, name: str) -> list[str]:
    return sorted(repr(row) for row in read_rows(settings, name, TABLES[name].column_names))
