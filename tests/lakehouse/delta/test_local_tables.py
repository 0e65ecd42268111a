"""Lookups, appends and merges without Spark give the same results as Spark."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kit.frames import frame_of
from kit.pipeline import plain, read_rows
from kit.records import NOON
from kit.spark import empty_home
from lakehouse.contracts.arrow import arrow_schema, typed
from lakehouse.contracts.gold import CONVERSIONS, TOUCHES
from lakehouse.contracts.silver import SESSIONS
from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta import log_writer
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.local_tables import LocalTables, local_tables
from lakehouse.delta.log_files import VersionTakenError
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.delta.table_log import TableLog
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import to_micros

SECOND = 1_000_000
START = to_micros(NOON)
SECOND_TRANSACTION = {"txnAppId": "app", "txnVersion": 2}
SEEDS = [0, pytest.param(1, marks=pytest.mark.long)]
ALL_TIMES = Scope(time="touched_at", low=START - 10**15, high=START + 10**15)


def table_of(contract: Table, rows: list[dict[str, Any]], **more: list[bool]) -> pa.Table:
    """Rows on the driver: times in microseconds, columns that a row lacks null."""
    schema = in_micros(arrow_schema(contract).empty_table()).schema
    table = pa.Table.from_pylist(rows, schema)
    for name, values in more.items():
        table = table.append_column(name, pa.array(values, pa.bool_()))
    return table


def touch(number: int, at: int, visitor: str | None = "v") -> dict[str, Any]:
    return {"touch_id": f"t{number}", "visitor_id": visitor, "touched_at": at, "kind": "click"}


def some_touches(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Touches by number; some times are long before 1970, some at the edges of a millisecond."""
    times = [chance.choice([START, -(10**15)]) + chance.randrange(9) * 333 for _ in range(count)]
    return [touch(number, at, chance.choice(["a", "b", "é", None])) for number, at in enumerate(times)]


@pytest.mark.parametrize("seed", SEEDS)
def test_local_lookup_finds_same_rows_as_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    lake = Lakehouse(spark.newSession(), empty_home(spark, tmp_path), "test")
    rows = some_touches(chance, 60)
    for part in range(6):
        some = table_of(TOUCHES, rows[part * 10 : part * 10 + 10])
        spark_writes = frame_of(lake.spark, TOUCHES.name, typed(TOUCHES, some).to_pylist())
        lake.append(TOUCHES.name, spark_writes if part % 2 else some)
    lookups = [
        Lookup(("touch_id", "touched_at", "impression"), near, "touched_at", key=key)
        for near in (
            None,
            TimePruner([]),
            TimePruner([(START + 333, START + 999)]),
            TimePruner([(-(10**15), 0)]),
        )
        for key in (None, ("visitor_id", ["a", "é"]), ("visitor_id", []))
    ]
    for wanted in lookups:
        found = lake.find(TOUCHES.name, wanted).sort_by("touch_id")
        by_spark = in_micros(wanted.of_frame(lake.read(TOUCHES.name)).toArrow()).sort_by("touch_id")
        assert found.to_pylist() == by_spark.to_pylist(), wanted


def test_lookup_at_pinned_version_finds_deleted_row(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lakehouse(spark.newSession(), empty_home(spark, tmp_path), "test")
    wanted = Lookup(("touch_id",))
    lake.append(TOUCHES.name, table_of(TOUCHES, [touch(1, START)]))
    before = lake.version(TOUCHES.name)
    lake.merge_changes(
        TOUCHES.name, table_of(TOUCHES, [touch(1, START)], **{DELETED: [True]}), NOON, ALL_TIMES
    )
    assert lake.find(TOUCHES.name, wanted).num_rows == 0
    lake.pinned = lambda _: before
    assert lake.find(TOUCHES.name, wanted).num_rows == 1


def test_lookup_with_flag_finds_rows_of_that_partition_only(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lakehouse(spark.newSession(), empty_home(spark, tmp_path), "test")
    rows = [{"session_id": str(n), "started_at": START, "is_open": n % 2 == 0} for n in range(4)]
    lake.append(SESSIONS.name, table_of(SESSIONS, rows))
    found = lake.find(SESSIONS.name, Lookup(("session_id", "is_open"), flag="is_open"))
    assert sorted(found.to_pylist(), key=str) == [
        {"session_id": "0", "is_open": True},
        {"session_id": "2", "is_open": True},
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_local_merge_gives_same_rows_as_spark(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    tables = []
    for way in ("local", "spark"):
        settings = empty_home(spark, tmp_path / way)
        lake = Lakehouse(spark.newSession(), settings, "test")
        chance.seed(seed)
        for _ in range(4):
            numbers = chance.sample(range(30), 12)
            times = [START + number * 333 for number in numbers]
            rows = [
                touch(number, at, chance.choice("xyz")) for number, at in zip(numbers, times, strict=True)
            ]
            changes = table_of(TOUCHES, rows, **{DELETED: [chance.random() < 0.3 for _ in rows]})
            frame = lake.spark.createDataFrame(typed(TOUCHES, changes))
            scope = Scope(time="touched_at", low=min(times), high=max(times))
            lake.merge_changes(
                TOUCHES.name, changes if way == "local" else checkpoint(frame), NOON, scope, sequence=7
            )
        tables.append(sorted(map(plain, read_rows(settings, TOUCHES.name, TOUCHES.column_names)), key=str))
        assert lake.last_commit(TOUCHES.name) == {"job": "test", "upto": START, "sequence": 7}
    local, by_spark = tables
    assert local == by_spark
    assert local


def test_local_merge_overtaken_by_spark_keeps_both_changes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.append(TOUCHES.name, table_of(TOUCHES, [touch(1, START), touch(2, START)]))
    tables = local_tables(settings.warehouse)
    stale_log = tables._log(TOUCHES)
    stale_log.follow = lambda: None  # type: ignore[method-assign]
    commit, attempts = log_writer.commit, list[int]()

    def commit_after_spark(folder: Path, version: int, *given: Any) -> None:
        attempts.append(version)
        try:
            commit(folder, version, *given)
        except VersionTakenError:
            del stale_log.follow
            raise

    monkeypatch.setattr("lakehouse.delta.local_tables.commit", commit_after_spark)
    frame = lake.spark.createDataFrame(
        typed(TOUCHES, table_of(TOUCHES, [touch(1, START, "w")], **{DELETED: [False]}))
    )
    lake.merge_changes(TOUCHES.name, checkpoint(frame), NOON, ALL_TIMES)
    lake.merge_changes(
        TOUCHES.name, table_of(TOUCHES, [touch(2, START)], **{DELETED: [True]}), NOON, ALL_TIMES
    )
    assert attempts == [2, 3]
    rows = read_rows(settings, TOUCHES.name, TOUCHES.column_names)
    assert [(row["touch_id"], row["visitor_id"]) for row in rows] == [("t1", "w")]


def test_rows_of_one_transaction_are_appended_once(tmp_path: Path) -> None:
    """Also if another process commits the transaction between the check and the commit."""
    ours, other = LocalTables(tmp_path), LocalTables(tmp_path)
    ours.ensure(TOUCHES, {})
    rows = typed(TOUCHES, table_of(TOUCHES, [touch(1, START)]))
    for number, tables in enumerate((ours, ours, other)):
        tables.append(TOUCHES, rows, {"attempt": number}, {"txnAppId": "app", "txnVersion": 1})
    assert ours.find(TOUCHES, Lookup(("touch_id",))).num_rows == 1

    class OvertakenTables(LocalTables):
        """Tables in which another process commits right after the log was read."""

        def _log(self, table: Table) -> TableLog:
            log = super()._log(table)
            followed = log.follow
            log.follow = lambda: (followed(), other.append(table, rows, {}, SECOND_TRANSACTION))[0]  # type: ignore[method-assign]
            return log

    OvertakenTables(tmp_path).append(TOUCHES, rows, {}, SECOND_TRANSACTION)
    assert ours.find(TOUCHES, Lookup(("touch_id",))).num_rows == 2


def test_table_with_unsupported_features_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lakehouse(spark.newSession(), empty_home(spark, tmp_path), "test")
    lake.append(CONVERSIONS.name, table_of(CONVERSIONS, [{"conversion_id": "1", "converted_at": START}]))
    assert lake.local.of(CONVERSIONS.name) is not None
    lake.read(CONVERSIONS.name)  # registers the table in Spark
    lake.spark.sql(
        f"ALTER TABLE {CONVERSIONS.name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    assert lake.local.of(CONVERSIONS.name) is None
    lake.append(
        CONVERSIONS.name, table_of(CONVERSIONS, [{"conversion_id": "2", "converted_at": START + SECOND}])
    )
    lake.spark.sql(f"DELETE FROM {CONVERSIONS.name} WHERE conversion_id = '1'")
    found = lake.find(CONVERSIONS.name, Lookup(("conversion_id", "converted_at")))
    assert found.to_pylist() == [{"conversion_id": "2", "converted_at": START + SECOND}]


def test_narrow_time_filter_keeps_file_with_truncated_statistics(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lakehouse(spark.newSession(), empty_home(spark, tmp_path), "test")
    last = to_micros(NOON + timedelta(microseconds=999))
    lake.append(TOUCHES.name, table_of(TOUCHES, [touch(1, last)]))
    wanted = Lookup(("touch_id",), TimePruner([(last, last)]), "touched_at")
    assert lake.find(TOUCHES.name, wanted).num_rows == 1
    assert lake.read(TOUCHES.name).where(wanted.near.contains("touched_at")).count() == 1  # type: ignore[union-attr]
