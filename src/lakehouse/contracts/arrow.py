"""The columns of contracts as Arrow types."""

import re
from collections.abc import Iterator

import pyarrow as pa

from lakehouse.contracts.table import DELETED, Table

_PLAIN = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def arrow_schema(table: Table) -> pa.Schema:
    """The schema of a table."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in table.columns])


def typed(table: Table, rows: pa.Table) -> pa.Table:
    """The columns of a table in order, cast to their types; times may be in microseconds.

    Columns that the contract does not have are left out, except for `DELETED`.
    """
    schema = arrow_schema(table)
    if DELETED in rows.column_names:
        schema = schema.append(pa.field(DELETED, pa.bool_()))
    return rows.select(schema.names).cast(schema)


def arrow_type(sql: str) -> pa.DataType:
    """The Arrow type of a Spark SQL type in lower case."""
    if decimal := re.fullmatch(r"decimal\((\d+),(\d+)\)", sql):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    if array := re.fullmatch(r"array<(.*)>", sql):
        return pa.list_(arrow_type(array[1]))
    if struct := re.fullmatch(r"struct<(.*)>", sql):
        fields = (field.split(":", 1) for field in _split(struct[1]))
        return pa.struct([pa.field(name.strip(), arrow_type(type_.strip())) for name, type_ in fields])
    return _PLAIN[sql]


def _split(fields: str) -> Iterator[str]:
    """Parts of a comma-separated list; commas within brackets do not split."""
    depth = start = 0
    for place, sign in enumerate(fields):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            yield fields[start:place]
            start = place + 1
    yield fields[start:]
