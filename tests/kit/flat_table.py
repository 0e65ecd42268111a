"""A table to merge into: a composite key with nulls, a partition, and several column types."""

from collections.abc import Mapping
from datetime import date
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from kit.records import NOON
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import DELETED, Column, Table
from lakehouse.rows.arrow_times import in_micros
from lakehouse.timestamps import to_micros

Row = tuple[Any, ...]
START = to_micros(NOON)
MINUTE = 60_000_000
NAMES = ("kind", "number", "at", "day", "value", "is_open")
TYPES = ("string", "int", "timestamp", "date", "bigint", "boolean")
FLAT = Table(
    name="silver.flat",
    grain="key",
    summary="rows to merge",
    inputs=(),
    writer="test",
    key=("kind", "number"),
    columns=tuple(Column(name, type_, name) for name, type_ in zip(NAMES, TYPES, strict=True)),
    event_time="at",
    is_mutable=True,
    partitioned_by=("is_open",),
)

keys = st.tuples(st.sampled_from(["a", "b", "\x00", "", None]), st.sampled_from([*range(6), None]))
values = st.tuples(st.integers(0, 3), st.integers(0, 99), st.booleans(), st.booleans())
batches = st.lists(st.dictionaries(keys, values, max_size=9), max_size=5)


def rows_of(batch: Mapping[Row, Row]) -> pa.Table:
    """Changes: key -> minute, value, whether it is open, whether it is deleted."""
    schema = in_micros(arrow_schema(FLAT).empty_table()).schema.append(pa.field(DELETED, pa.bool_()))
    rows = [
        {
            "kind": kind,
            "number": number,
            "at": START + minute * MINUTE,
            "day": date(2026, 1, 1 + minute),
            "value": value,
            "is_open": is_open,
            DELETED: is_deleted,
        }
        for (kind, number), (minute, value, is_open, is_deleted) in batch.items()
    ]
    return pa.Table.from_pylist(rows, schema)
