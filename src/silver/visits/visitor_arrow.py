"""Converts Arrow columns to the tuples of visitor folds, and back. Runs in Spark's Python workers."""

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa

from folds.visitors.clicks import Piece, SearchPiece
from folds.visitors.events import Event
from folds.visitors.exposures import Impression, Search
from folds.visitors.sessions import Session
from lakehouse.contracts.exposures import IMPRESSIONS, SEARCHES
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.contracts.table import Table

ROWS: dict[str, tuple[Callable[[Iterable[Any]], Any], type[Piece] | type[SearchPiece]]] = {
    SESSIONS.name: (Session._make, Piece),
    IMPRESSIONS.name: (Impression._make, Piece),
    SEARCHES.name: (Search._make, SearchPiece),
}
"""By table: the constructor of its rows, and the element type of the column `made_of`."""

_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "array<string>": pa.list_(pa.string()),
    "decimal(18,4)": pa.decimal128(18, 4),
}
_PIECES = {
    Piece: (pa.int64(), pa.bool_(), pa.string()),
    SearchPiece: (pa.int64(), pa.bool_(), pa.string(), pa.string(), pa.string()),
}
EVENT_TYPES = {column.name: column.type for column in EVENTS.columns if column.name in Event._fields}


def read_table(table: Table, rows: pa.StructArray) -> list[Any]:
    """Convert structs to a table's row tuples, with times in microseconds."""
    make, piece = ROWS[table.name]
    columns = (
        _read_pieces(piece, values) if column.name == "made_of" else _read(column.type, values)
        for column, values in zip(table.columns, rows.flatten(), strict=True)
    )
    return list(map(make, zip(*columns, strict=True)))


def read_events(rows: pa.StructArray) -> tuple[list[Event], list[int]]:
    """Convert structs to events and ingest stamps, in microseconds; the stamp is each struct's last field."""
    *columns, stamps = rows.flatten()
    values = (_read(EVENT_TYPES[name], each) for name, each in zip(Event._fields, columns, strict=True))
    return list(map(Event._make, zip(*values, strict=True))), _read("timestamp", stamps)


def write_table(table: Table, rows: Sequence[Any]) -> pa.StructArray:
    """Convert row tuples to structs with a table's columns."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.columns)
    arrays = [
        _write_pieces(ROWS[table.name][1], values)
        if column.name == "made_of"
        else _write(column.type, values)
        for column, values in zip(table.columns, columns, strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, list(table.column_names))


def arrow_type(table: Table) -> pa.DataType:
    """The Arrow type of a table's rows."""
    return write_table(table, ()).type


def _read(kind: str, values: pa.Array) -> list[Any]:
    values = values.cast(pa.int64()) if kind == "timestamp" else values
    found: list[Any] = values.to_pylist()
    return found


def _write(kind: str, values: Sequence[Any]) -> pa.Array:
    if kind == "timestamp":
        return pa.array(values, pa.int64()).cast(_TYPES[kind])
    return pa.array(values, _TYPES[kind])


def _read_pieces(piece: type[Piece] | type[SearchPiece], lists: pa.ListArray) -> list[Any]:
    fields = (values.to_pylist() for values in lists.flatten().flatten())
    pieces = list(map(piece._make, zip(*fields, strict=True)))
    ends = list(accumulate(lists.value_lengths().to_pylist(), initial=0))
    return [pieces[low:high] for low, high in pairwise(ends)]


def _write_pieces(piece: type[Piece] | type[SearchPiece], lists: Sequence[Sequence[Any]]) -> pa.ListArray:
    ends = list(accumulate(map(len, lists), initial=0))
    types = _PIECES[piece]
    columns = list(zip(*(each for made_of in lists for each in made_of), strict=True)) or [()] * len(types)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)]
    structs = pa.StructArray.from_arrays(arrays, list(piece._fields))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs)
