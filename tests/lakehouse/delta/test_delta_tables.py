"""Delta tables of a home: schema evolution, files per write, checksums and replaced rows."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from kit.frames import frame_of
from kit.pipeline import read_rows
from kit.records import NOON
from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.contracts import TABLES
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.silver import SESSIONS
from lakehouse.contracts.table import DELETED
from lakehouse.delta.commit_log import read_commits
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.merge import Scope
from lakehouse.delta.table_properties import STATISTICS
from lakehouse.delta.write_changes import OLD_TIME, WAS_OPEN, folded_changes, write_changes
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.grouped import rows_of_kind
from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros

NAME = CONVERSIONS.name
FOLDER = "warehouse/silver/sessions"
RESULTS = "warehouse/silver/search_results"
Rows = list[dict[str, Any]]


def conversion(number: int, value: int) -> dict[str, Any]:
    at = NOON + timedelta(days=number)
    return {"conversion_id": str(number), "converted_at": at, "value": Decimal(value), "touches": 0}


def values_by_id(settings: Settings) -> dict[str, int]:
    return {
        row["conversion_id"]: int(row["value"]) for row in read_rows(settings, NAME, CONVERSIONS.column_names)
    }


def changes(lake: Lakehouse, before: Rows, after: Rows) -> DataFrame:
    old, new = (frame_of(lake.spark, NAME, rows) for rows in (before, after))
    found = folded_changes([CONVERSIONS], {CONVERSIONS.name: old}, {CONVERSIONS.name: new}, "conversion_id")
    return rows_of_kind(found, CONVERSIONS.short_name)


def test_missing_column_is_added_to_existing_table(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    older = Lakehouse(spark.newSession(), settings, "test")
    older.append(NAME, frame_of(older.spark, NAME, [{"conversion_id": "1"}]))
    older.spark.sql(f"ALTER TABLE {NAME} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    older.spark.sql(f"ALTER TABLE {NAME} DROP COLUMN rules_version")
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.spark.sql(f"DROP TABLE {NAME}")  # from the catalogue, as in a new application
    lake.append(NAME, lake.read(NAME))
    assert [row.rules_version for row in lake.read(NAME).collect()] == [None, None]


def test_changed_column_type_is_migrated_to_that_of_the_contract(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    Lakehouse(spark.newSession(), settings, "test").create(SESSIONS.name)
    folder = settings.warehouse / "silver" / "sessions"
    spark.sql(f"ALTER TABLE {SESSIONS.name} UNSET TBLPROPERTIES ('{STATISTICS}')")  # it names columns
    of_today = DeltaTable(folder)
    older = spark.createDataFrame([("s", 7)], "session_id string, events int").withColumns(
        {"is_open": F.lit(True), "page_views": F.lit(2.5), "channel": F.lit("Email")}
    )
    writer = older.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.partitionBy("is_open").save(str(folder))
    spark.sql(f"DROP TABLE {SESSIONS.name}")  # from the catalogue, as in a new application
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.append(SESSIONS.name, frame_of(lake.spark, SESSIONS.name, [{"session_id": "t", "is_open": False}]))
    names = ("session_id", "events", "page_views", "channel", "started_at")
    assert sorted(tuple(row.values()) for row in read_rows(settings, SESSIONS.name, names)) == [
        ("s", 7, 2, "Email", None),
        ("t", None, None, None, None),
    ]
    now = DeltaTable(folder)
    types = {field.name: field.type for field in of_today.schema().fields}
    assert {field.name: field.type for field in now.schema().fields} == types
    assert now.metadata().partition_columns == of_today.metadata().partition_columns
    assert now.metadata().configuration == of_today.metadata().configuration


def test_table_that_does_not_exist_has_no_rows_and_is_not_created(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    for name, table in TABLES.items():
        rows = lake.read(name)
        assert rows.columns == list(table.column_names)
        assert [field.dataType for field in rows.schema] == [
            DataType.fromDDL(column.type) for column in table.columns
        ]
    assert lake.read(NAME).collect() == []
    assert (lake.version(NAME), list(lake.commits(NAME)), lake.last_commit(NAME)) == (0, [], {})
    assert lake.counter.copy()["table_reads"] == 0
    assert not settings.warehouse.exists()


def test_table_pinned_to_its_creation_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.pinned = {NAME: lake.version(NAME)}.get
    other = Lakehouse(spark.newSession(), settings, "other")
    other.append(NAME, frame_of(other.spark, NAME, [conversion(1, 1)]))
    assert (lake.read(NAME).count(), other.read(NAME).count()) == (0, 1)


def test_up_to_date_table_is_not_altered(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    for _ in range(2):
        lake = Lakehouse(spark.newSession(), settings, "test")
        for name in TABLES:
            lake.create(name)
            spark.sql(f"DROP TABLE {name}")
    commits = {name: DeltaTable(settings.warehouse / name.replace(".", "/")).version() for name in TABLES}
    assert commits == dict.fromkeys(TABLES, 0)


@pytest.mark.parametrize("files", [1, 3])
def test_append_writes_so_many_files_and_no_checksum_files(
    spark: SparkSession, tmp_path: Path, files: int
) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.files_per_append = files
    rows = [{"conversion_id": str(number)} for number in range(30)]
    lake.append(NAME, frame_of(lake.spark, NAME, rows).repartition(5))
    folder = settings.warehouse / NAME.replace(".", "/")
    assert len([path for path in folder.iterdir() if path.is_file()]) == files
    assert len(read_rows(settings, NAME, ["conversion_id"])) == 30


def test_corrupted_byte_fails_parquet_checksum(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    append_rows(settings.home, NAME, [conversion(number, 1) for number in range(100)])
    lake = Lakehouse(spark.newSession(), settings, "test")
    lake.overwrite(NAME, lake.read(NAME).localCheckpoint())
    (written,) = lake.read(NAME).inputFiles()
    path = Path(written.removeprefix("file:"))
    column = pq.ParquetFile(path).metadata.row_group(0).column(0)
    spoilt = bytearray(path.read_bytes())
    spoilt[column.data_page_offset + column.total_compressed_size // 2] ^= 0xFF
    path.write_bytes(spoilt)
    with pytest.raises(Py4JJavaError, match="CRC checksum"):
        lake.read(NAME).collect()


def test_commits_read_from_log_files_equal_those_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path)
    lake = Lakehouse(spark.newSession(), settings, "test")
    for number in range(2):
        append_rows(settings.home, NAME, [conversion(number, 1)])
    one = lake.read(NAME).limit(1)
    lake.append(NAME, one, NOON, more=1)
    lake.overwrite(NAME, one, other=2)
    asked = list(read_commits(lake.spark, NAME, None))
    assert list(lake.commits(NAME)) == asked
    assert [metadata for _, metadata in asked][:2] == [
        {"job": "test", "other": 2},
        {"job": "test", "upto": to_micros(NOON), "more": 1},
    ]
    assert [number for number, _ in asked] == list(range(len(asked)))[::-1]


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ([], [], 0),
        ([], [conversion(3, 30)], 1),
        ([conversion(1, 10)], [conversion(1, 10)], 0),
        ([conversion(1, 10)], [conversion(1, 11)], 1),
        ([conversion(1, 10)], [], 1),
        (
            [conversion(1, 10), conversion(2, 20)],
            [conversion(1, 10), conversion(2, 21), conversion(3, 30)],
            2,
        ),
    ],
)
def test_write_changes_writes_changed_rows_only(
    spark: SparkSession, tmp_path: Path, before: Rows, after: Rows, changed: int
) -> None:
    settings = empty_home(spark, tmp_path)
    append_rows(tmp_path, NAME, [conversion(1, 10), conversion(2, 20)])
    lake = Lakehouse(spark.newSession(), settings, "test")
    assert write_changes(lake, CONVERSIONS, changes(lake, before, after), NOON) == changed
    stays = {"1": 10, "2": 20}
    for row in before:
        del stays[row["conversion_id"]]
    assert values_by_id(settings) == stays | {row["conversion_id"]: int(row["value"]) for row in after}
    assert bool(lake.last_commit(NAME)) == bool(changed)


@pytest.mark.parametrize("days", [-30, 30])
def test_row_with_new_event_time_replaces_its_old_row(spark: SparkSession, tmp_path: Path, days: int) -> None:
    settings = empty_home(spark, tmp_path)
    append_rows(tmp_path, NAME, [conversion(1, 10), conversion(2, 20)])
    lake = Lakehouse(spark.newSession(), settings, "test")
    moved = conversion(1, 10)
    moved["converted_at"] += timedelta(days=days)
    assert write_changes(lake, CONVERSIONS, changes(lake, [conversion(1, 10)], [moved]), NOON) == 1
    rows = read_rows(settings, NAME, CONVERSIONS.column_names)
    assert sorted(row["conversion_id"] for row in rows) == ["1", "2"]
    assert to_micros(moved["converted_at"]) in [row["converted_at"] for row in rows]


def session(name: str, is_open: bool, events: int = 1) -> dict[str, Any]:
    return {"session_id": name, "started_at": NOON, "is_open": is_open, "events": events}


def test_changes_of_a_flagged_partition_replace_it_and_leave_the_files_of_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    lake, name = Lakehouse(spark.newSession(), settings, "test"), SESSIONS.name
    before = [session(each, True) for each in ("stays", "grows", "closes", "goes")] + [session("old", False)]
    lake.append(name, frame_of(lake.spark, name, before), NOON)
    (closed,) = (file for file in DeltaTable(tmp_path / FOLDER).file_uris() if "is_open=false" in file)
    after = [
        session("grows", True, 2),
        session("closes", False),
        session("comes", True),
        session("brief", False),
    ]
    changed = frame_of(lake.spark, name, after).withColumn(DELETED, F.lit(False))
    gone = frame_of(lake.spark, name, [session("goes", True)]).withColumn(DELETED, F.lit(True))
    lake.merge_changes(name, checkpoint(changed.union(gone)), NOON, Scope("is_open"))
    rows = read_rows(settings, name, ("session_id", "is_open", "events"))
    assert sorted((row["session_id"], row["is_open"], row["events"]) for row in rows) == [
        ("brief", False, 1),
        ("closes", False, 1),
        ("comes", True, 1),
        ("grows", True, 2),
        ("old", False, 1),
        ("stays", True, 1),
    ]
    assert closed in DeltaTable(tmp_path / FOLDER).file_uris()
    assert len(list(lake.commits(name))) == 3  # with the one that created it
    assert lake.high_water_mark(name) == NOON


def result(search: str, is_open: bool, outcome: str) -> dict[str, Any]:
    return {"search_event_id": search, "rank": 1, "event_time": NOON, "is_open": is_open, "outcome": outcome}


@pytest.mark.parametrize("changed", ["open", "closed"])
def test_open_changes_leave_closed_files_unless_a_closed_row_changes(
    spark: SparkSession, tmp_path: Path, changed: str
) -> None:
    settings = empty_home(spark, tmp_path)
    lake, name = Lakehouse(spark.newSession(), settings, "test"), SEARCH_RESULTS.name
    known = {"open": result("a", True, "open"), "closed": result("b", False, "clicked")}
    lake.append(name, frame_of(lake.spark, name, [*known.values(), result("stays", True, "open")]), NOON)
    (closed,) = (file for file in DeltaTable(tmp_path / RESULTS).file_uris() if "is_open=false" in file)
    was_open = known[changed]["is_open"]
    known[changed] = {**known[changed], "is_open": False, "outcome": "unclicked"}
    replaced = {DELETED: F.lit(False), OLD_TIME: F.lit(NOON), WAS_OPEN: F.lit(was_open)}
    inserted = {DELETED: F.lit(False), OLD_TIME: F.lit(None), WAS_OPEN: F.lit(None)}
    old = frame_of(lake.spark, name, [known[changed]]).withColumns(replaced)
    new = frame_of(lake.spark, name, [result("comes", True, "open")]).withColumns(inserted)
    assert write_changes(lake, SEARCH_RESULTS, old.union(new), NOON) == 2
    rows = read_rows(settings, name, ("search_event_id", "outcome"))
    assert sorted((row["search_event_id"], row["outcome"]) for row in rows) == [
        ("a", known["open"]["outcome"]),
        ("b", known["closed"]["outcome"]),
        ("comes", "open"),
        ("stays", "open"),
    ]
    assert (closed in DeltaTable(tmp_path / RESULTS).file_uris()) == (changed == "open")


def test_later_commit_is_found_by_its_high_water_mark_and_a_rebuild_always(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings, second = empty_home(spark, tmp_path), timedelta(seconds=1)
    lake = Lakehouse(spark.newSession(), settings, "test")
    assert not lake.has_commit_after(NAME, NOON - second)
    lake.append(NAME, frame_of(lake.spark, NAME, [conversion(1, 1)]), NOON)
    assert lake.has_commit_after(NAME, NOON - second)
    assert not lake.has_commit_after(NAME, NOON)
    lake.overwrite(NAME, lake.read(NAME))
    assert lake.has_commit_after(NAME, NOON + second)


def test_tables_of_a_catalog_store_changes_from_creation_or_from_the_next_use(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path).model_copy(update={"catalog": "spark_catalog"})
    older = Lakehouse(spark.newSession(), settings, "test")
    older.create(NAME)
    older.create("ops.ledger")
    assert [stores_changes(older, name) for name in (NAME, "ops.ledger")] == [True, False]
    older.spark.sql(f"ALTER TABLE {NAME} UNSET TBLPROPERTIES ('delta.enableChangeDataFeed')")
    assert not stores_changes(older, NAME)
    later = Lakehouse(spark.newSession(), settings, "test")
    later.create(NAME)
    version = later.version(NAME)
    assert stores_changes(later, NAME)
    Lakehouse(spark.newSession(), settings, "test").create(NAME)
    assert later.version(NAME) == version
    empty_home(spark, tmp_path)


def stores_changes(lake: Lakehouse, name: str) -> bool:
    found = lake.spark.sql(f"SHOW TBLPROPERTIES {name}").collect()
    return ("delta.enableChangeDataFeed", "true") in [tuple(row) for row in found]
