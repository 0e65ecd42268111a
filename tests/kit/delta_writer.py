"""Commits to tables of a warehouse as jobs do, with their metadata, by deltalake instead of Spark."""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable

from lakehouse.contracts.arrow import typed
from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta import python_writer
from lakehouse.delta.table_properties import FEED


def folder_of(warehouse: Path, table: Table) -> Path:
    """The folder of a table."""
    return warehouse / table.layer / table.short_name


STORED_CHANGES = {FEED: "true"}
"""Properties of a table with Delta's change data feed, as tables of a catalog have it."""


def create_table(warehouse: Path, table: Table, properties: Mapping[str, str] | None = None) -> None:
    """Create a table from its contract, unless it exists."""
    python_writer.create_table(folder_of(warehouse, table), table, properties or {})


def append(warehouse: Path, table: Table, rows: pa.Table, metadata: Mapping[str, object]) -> None:
    """Append rows to an existing table in one commit."""
    python_writer.append_rows(folder_of(warehouse, table), table, rows, metadata)


def merge(warehouse: Path, table: Table, changes: pa.Table, metadata: Mapping[str, object]) -> int:
    """Merge changes by key, where null equals null, in one commit. Returns its version.

    Args:
        warehouse: its folder.
        table: the contract of an existing table.
        changes: its columns and `DELETED`, each key once; times may be in microseconds.
        metadata: of the commit.
    """
    there = DeltaTable(folder_of(warehouse, table))
    values = {name: f"s.{name}" for name in table.column_names}
    text = CommitProperties(custom_metadata={"userMetadata": json.dumps(metadata)})
    merging = there.merge(
        typed(table, changes),
        " AND ".join(f"(t.{key} IS NOT DISTINCT FROM s.{key})" for key in table.key),
        source_alias="s",
        target_alias="t",
        merge_schema=True,
        commit_properties=text,
    )
    merging = merging.when_matched_delete(f"s.{DELETED}").when_matched_update(values)
    merging.when_not_matched_insert(values, f"NOT s.{DELETED}").execute()
    return int(there.version())
