"""Tables created without Spark equal those that Spark creates, also after a crash."""

from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kit.spark import empty_home
from lakehouse.contracts import TABLES, Table
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.silver import SESSIONS
from lakehouse.delta.ddl import DeclaredTables
from lakehouse.delta.local_access import LocalAccess
from lakehouse.delta.local_ddl import ensure_table
from lakehouse.settings import Settings


class _NoAccess(LocalAccess):
    """Leaves everything to Spark."""

    def ensure(self, *_: Any) -> bool:
        return False


def described(settings: Settings, table: Table) -> dict[str, Any]:
    there = DeltaTable(settings.warehouse / table.layer / table.short_name)
    metadata, protocol = there.metadata(), there.protocol()
    return {
        "columns": [(field.name, str(field.type), field.nullable) for field in there.schema().fields],
        "partitioned_by": metadata.partition_columns,
        "properties": metadata.configuration,
        "protocol": (protocol.min_reader_version, protocol.min_writer_version),
    }


def test_locally_created_table_equals_table_created_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    by_spark, here = (empty_home(spark, tmp_path / name) for name in ("spark", "here"))
    declared = DeclaredTables(spark, by_spark, _NoAccess(by_spark))
    for name in TABLES:
        declared.ensure(name)
    local = DeclaredTables(spark, here, LocalAccess(here))
    for name, table in TABLES.items():
        local.ensure(name)
        assert described(here, table) == described(by_spark, table), name


def test_table_is_created_over_log_without_commit(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    assert ensure_table(tmp_path, CONVERSIONS, {})
    assert DeltaTable(tmp_path).version() == 0


def test_missing_column_is_added_and_changed_type_is_left_to_spark(tmp_path: Path) -> None:
    before = Table("silver.sessions", "", (), SESSIONS.columns[:2])
    assert ensure_table(tmp_path, before, {})
    assert ensure_table(tmp_path, SESSIONS, {})
    assert [field.name for field in DeltaTable(tmp_path).schema().fields] == list(SESSIONS.column_names)
    other = Table("silver.sessions", "", (), (SESSIONS.columns[0].__class__("visitor_id", "bigint", ""),))
    assert not ensure_table(tmp_path, other, {})


@pytest.mark.parametrize("times", [1, 2])
def test_creating_existing_table_makes_no_commit(tmp_path: Path, times: int) -> None:
    for _ in range(times):
        assert ensure_table(tmp_path, CONVERSIONS, {"delta.checkpointInterval": "100"})
    assert DeltaTable(tmp_path).version() == 0
