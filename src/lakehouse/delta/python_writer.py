"""Appends to the tables of `WITHOUT_SPARK` with deltalake, from any process; imports no PySpark."""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

from lakehouse.contracts.arrow import arrow_schema, typed
from lakehouse.contracts.table import Table


def create_table(folder: Path, table: Table, properties: Mapping[str, str]) -> None:
    """Create a table from its contract, unless it exists.

    A log without a commit counts as no table: a process that is killed while it creates a table leaves one.

    Args:
        folder: of the table.
        table: its contract.
        properties: Delta properties of the new table.
    """
    if not DeltaTable.is_deltatable(str(folder)):
        partitions = list(table.partitioned_by)
        DeltaTable.create(
            str(folder), arrow_schema(table), "ignore", partitions, configuration=dict(properties)
        )


def append_rows(
    folder: Path, table: Table, rows: pa.Table, metadata: Mapping[str, object] | None = None
) -> None:
    """Append rows in one commit, which adds the columns that the table lacks.

    Args:
        folder: of the table, which exists.
        table: its contract.
        rows: its columns, in any order.
        metadata: of the commit.
    """
    text = {} if metadata is None else {"userMetadata": json.dumps(metadata)}
    write_deltalake(
        folder,
        typed(table, rows),
        mode="append",
        schema_mode="merge",
        commit_properties=CommitProperties(custom_metadata=text),
    )
