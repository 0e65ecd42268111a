"""Creates tables in a folder, and adds columns, without a Spark job."""

from collections.abc import Mapping
from pathlib import Path

from deltalake import DeltaTable, Field, Schema

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Table

_WRITER = 2  # version of Delta's protocol that tables are created with


def ensure_table(folder: Path, table: Table, properties: Mapping[str, str]) -> bool:
    """Create a table if it does not exist, and add missing columns.

    New columns are null in existing rows. A log without a commit counts as no table: a process that is killed
    while it creates a table leaves one.

    Args:
        folder: of the table.
        table: its contract.
        properties: Delta properties of a new table.

    Returns:
        False, without a change, if a column's type is not that of the contract, or if a column is missing and
        deltalake cannot write the table's features.
    """
    if not DeltaTable.is_deltatable(str(folder)):
        partitions = list(table.partitioned_by)
        DeltaTable.create(
            str(folder), arrow_schema(table), "ignore", partitions, configuration=dict(properties)
        )
        return True
    there = DeltaTable(folder)
    wanted = Schema.from_arrow(arrow_schema(table)).fields
    types = {field.name: field.type for field in there.schema().fields}
    if any(field.name in types and types[field.name] != field.type for field in wanted):
        return False
    missing = [Field(field.name, field.type) for field in wanted if field.name not in types]
    if missing and there.protocol().min_writer_version > _WRITER:
        return False
    if missing:
        there.alter.add_columns(missing)
    return True
