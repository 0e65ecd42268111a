"""Tables that are created without Spark equal those that Spark creates, also after a crash."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kit.spark import empty_home
from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import READS, WITHOUT_SPARK
from lakehouse.delta.ddl import DeclaredTables
from lakehouse.delta.python_writer import append_rows, create_table
from lakehouse.delta.table_properties import default_properties, properties_of


def described(folder: Path) -> dict[str, Any]:
    there = DeltaTable(folder)
    metadata, protocol = there.metadata(), there.protocol()
    return {
        "columns": [(field.name, str(field.type), field.nullable) for field in there.schema().fields],
        "partitioned_by": metadata.partition_columns,
        "properties": metadata.configuration,
        "protocol": (protocol.min_reader_version, protocol.min_writer_version),
    }


def test_table_created_without_spark_equals_table_created_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    declared = DeclaredTables(spark, settings)
    defaults = default_properties(settings.vacuum_retention, settings.feed_retention)
    for name in WITHOUT_SPARK:
        declared.ensure(name)
        create_table(tmp_path / name, TABLES[name], {**defaults, **properties_of(TABLES[name])})
        assert described(tmp_path / name) == described(settings.warehouse.joinpath(*name.split("."))), name


def test_table_is_created_over_log_without_commit(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    create_table(tmp_path, READS, {})
    assert DeltaTable(tmp_path).version() == 0


@pytest.mark.parametrize("times", [1, 2])
def test_creating_existing_table_makes_no_commit(tmp_path: Path, times: int) -> None:
    for _ in range(times):
        create_table(tmp_path, READS, {"delta.checkpointInterval": "100"})
    assert DeltaTable(tmp_path).version() == 0


def test_append_adds_columns_of_newer_contract(tmp_path: Path) -> None:
    older = Table(READS.name, "", (), READS.columns[:-1])
    create_table(tmp_path, older, {})
    append_rows(tmp_path, older, _read(older, 1))
    append_rows(tmp_path, READS, _read(READS, 2), {"job": "test"})
    there = DeltaTable(tmp_path)
    assert there.version() == 2
    assert [field.name for field in there.schema().fields] == list(READS.column_names)
    assert sorted(there.to_pyarrow_table()["version"].to_pylist()) == [1, 2]
    assert there.history(1)[0]["userMetadata"] == '{"job": "test"}'


def _read(table: Table, version: int) -> pa.Table:
    return pa.Table.from_pylist(
        [dict.fromkeys(table.column_names) | {"version": version}], arrow_schema(table)
    )
