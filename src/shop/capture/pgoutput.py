"""Decodes messages of PostgreSQL's output plugin pgoutput, protocol version 1."""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

EPOCH_MICROS = 946_684_800_000_000
"""PostgreSQL counts time from 2000."""

UNCHANGED: Final = object()
"""Value of a column that was stored outside of the row and did not change: the message lacks it."""

Value = str | object | None


class Begin(NamedTuple):
    """Begin of a transaction: position and time (microseconds) of its commit, and its number."""

    lsn: int
    committed_at: int
    transaction: int


class Commit(NamedTuple):
    """End of a transaction: the position after its commit."""

    end_lsn: int


class Relation(NamedTuple):
    """A table: its name with schema, and its columns, as they are from now on.

    Args:
        id: number of the table.
        name: with schema.
        columns: in order.
        identity: columns by which old rows are identified.
    """

    id: int
    name: str
    columns: tuple[str, ...]
    identity: frozenset[str]


class RowMessage(NamedTuple):
    """An inserted, updated or deleted row: values in the order of the relation's columns.

    Args:
        relation: number of the table.
        old: the old row, or its identity and nulls elsewhere; None if the message has none.
        has_all_old: whether `old` has all columns.
        new: the new row; None for a delete.
        is_insert: whether the row is new.
    """

    relation: int
    old: tuple[Value, ...] | None
    has_all_old: bool
    new: tuple[Value, ...] | None
    is_insert: bool


class Truncate(NamedTuple):
    """Tables that lose all rows, by number."""

    relations: tuple[int, ...]


Message = Begin | Commit | Relation | RowMessage | Truncate


def decode(data: bytes) -> Message | None:
    """Decode a message; None for kinds that change no row."""
    reader = _Reader(data, 1)
    match data[:1]:
        case b"B":
            lsn, at, transaction = reader.unpack(">qqI")
            return Begin(lsn, at + EPOCH_MICROS, transaction)
        case b"C":
            return Commit(reader.unpack(">bqqq")[2])
        case b"R":
            return _relation(reader)
        case b"I" | b"U" | b"D":
            return _row(reader, is_insert=data[:1] == b"I")
        case b"T":
            count, _ = reader.unpack(">ib")
            return Truncate(reader.unpack(f">{count}I"))
    return None


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._data)

    def unpack(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken

    def text(self) -> str:
        end = self._data.index(b"\0", self._at)
        taken = self._data[self._at : end].decode()
        self._at = end + 1
        return taken


def _relation(reader: _Reader) -> Relation:
    (number,) = reader.unpack(">I")
    schema, name = reader.text() or "pg_catalog", reader.text()
    _, count = reader.unpack(">bh")
    columns, identity = [], set()
    for _ in range(count):
        (flags,) = reader.unpack(">b")
        columns.append(reader.text())
        reader.unpack(">Ii")
        if flags & 1:
            identity.add(columns[-1])
    return Relation(number, f"{schema}.{name}", tuple(columns), frozenset(identity))


def _row(reader: _Reader, is_insert: bool) -> RowMessage:
    (relation,) = reader.unpack(">I")
    old, new, has_all_old = None, None, False
    while not reader.is_at_end:
        part = reader.take(1)
        values = tuple(_values(reader))
        if part == b"N":
            new = values
        else:
            old, has_all_old = values, part == b"O"
    return RowMessage(relation, old, has_all_old, new, is_insert)


def _values(reader: _Reader) -> Iterator[Value]:
    (count,) = reader.unpack(">h")
    for _ in range(count):
        kind = reader.take(1)
        if kind == b"n":
            yield None
        elif kind == b"u":
            yield UNCHANGED
        else:
            (length,) = reader.unpack(">i")
            yield reader.take(length).decode()
