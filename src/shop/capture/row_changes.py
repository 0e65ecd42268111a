"""Changes of rows as records of Kafka, from messages of pgoutput and rows of a snapshot."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from folds.shop.row_history import DELETE, INSERT, SNAPSHOT, TRUNCATE, UPDATE
from lakehouse.errors import MillraceError
from shop.capture.pgoutput import UNCHANGED, Begin, Message, Relation, RowMessage, Truncate, Value
from shop.shop_file import FILE, ShopSource, ShopTable

_ONLY_KEY = msgspec.json.Encoder(order="deterministic")


class _Place(msgspec.Struct):
    source: str


class _Change(msgspec.Struct):
    lsn: int


_PLACE = msgspec.json.Decoder(_Place)
_CHANGE = msgspec.json.Decoder(_Change)


class ChangeRecord(NamedTuple):
    """A record of Kafka; without a value it is the tombstone of a deleted row."""

    key: bytes
    value: bytes | None


def source_of(key: bytes | None) -> str | None:
    """The source in a record's key; None if it is no key of a change."""
    try:
        return _PLACE.decode(key or b"").source
    except msgspec.DecodeError:
        return None


def lsn_of(value: bytes | None) -> int:
    """The `lsn` in a record's value; 0 without one, as of a tombstone."""
    try:
        return _CHANGE.decode(value or b"").lsn
    except msgspec.DecodeError:
        return 0


class RowChanges:
    """Converts the messages of one source, in order.

    Args:
        name: the source's name.
        source: its tables.
        base: added to each position in the log.
    """

    def __init__(self, name: str, source: ShopSource, base: int = 0) -> None:
        self._name = name
        self._source = source
        self._base = base
        self._relations: dict[int, Relation] = {}
        self._begin = Begin(0, 0, 0)
        self._sequence = 0

    def records(self, message: Message) -> Iterator[ChangeRecord]:
        """Records of a message, in order.

        Raises:
            MillraceError: if a table lacks a column that conf/shop.yml names.
        """
        match message:
            case Begin():
                self._begin, self._sequence = message, 0
            case Relation(id=number, name=name) if name in self._source.tables:
                check_columns(name, self._source.tables[name], message.columns)
                self._relations[number] = message
            case RowMessage(relation=number) if number in self._relations:
                yield from self._of_row(self._relations[number], message)
            case Truncate(relations=numbers):
                for relation in (self._relations[each] for each in numbers if each in self._relations):
                    yield self._record(relation.name, TRUNCATE, None)

    def snapshot(self, table: str, lsn: int, at: int) -> ChangeRecord:
        """The record that begins the snapshot of a table: rows that the snapshot lacks are gone."""
        self._begin, self._sequence = Begin(lsn, at, 0), 0
        return self._record(table, TRUNCATE, None)

    def snapshot_row(self, table: str, columns: Sequence[str], values: Sequence[str | None]) -> ChangeRecord:
        """The record of a row in the snapshot of a table."""
        row = dict(zip(columns, values, strict=True))
        return self._record(table, SNAPSHOT, _key_of(row, self._source.tables[table]), row)

    def _of_row(self, relation: Relation, message: RowMessage) -> Iterator[ChangeRecord]:
        table = self._source.tables[relation.name]
        old = dict(zip(relation.columns, message.old, strict=True)) if message.old else None
        before = _key_of(old, table) if old else None
        if message.new is None:
            if before is not None:
                yield from self._deleted(relation.name, before)
            return
        row = _filled(
            dict(zip(relation.columns, message.new, strict=True)), old if message.has_all_old else None
        )
        key = _key_of(row, table)
        moved = before is not None and before != key
        if moved and before is not None:
            yield from self._deleted(relation.name, before)
        unchanged = [name for name, value in row.items() if value is UNCHANGED]
        known = {name: value for name, value in row.items() if value is not UNCHANGED}
        kind = INSERT if message.is_insert or moved else UPDATE
        yield self._record(relation.name, kind, key, known, unchanged)

    def _deleted(self, table: str, key: Mapping[str, Value]) -> Iterator[ChangeRecord]:
        record = self._record(table, DELETE, key)
        yield record
        yield ChangeRecord(record.key, None)

    def _record(
        self,
        table: str,
        kind: str,
        key: Mapping[str, Value] | None,
        row: Mapping[str, Value] | None = None,
        unchanged: Sequence[str] = (),
    ) -> ChangeRecord:
        self._sequence += 1
        place: dict[str, Any] = {"source": self._name, "table": table, "key": key}
        change = {
            **place,
            "kind": kind,
            "row": row,
            "unchanged": unchanged,
            "lsn": self._base + self._begin.lsn,
            "sequence": self._sequence,
            "transaction": self._begin.transaction,
            "committed_at": self._begin.committed_at,
        }
        return ChangeRecord(_ONLY_KEY.encode(place), msgspec.json.encode(change))


def check_columns(name: str, table: ShopTable, columns: Sequence[str]) -> None:
    """Check that a table has all columns that conf/shop.yml names.

    Raises:
        MillraceError: if one is missing.
    """
    wanted = {"its key": table.key, **{f"column {each}": names for each, names in table.columns.items()}}
    for what, names in wanted.items():
        lacking = set(names) - set(columns)
        if lacking and (what == "its key" or lacking == set(names)):
            raise MillraceError(
                f"{name} has no column {', '.join(sorted(lacking))}, which conf/{FILE} names as {what}",
                f"If it was renamed, add the new name there, as [{', '.join(names)}, new_name]: rows from "
                "before have the old one. Capture goes on where it stopped",
            )


def _key_of(row: Mapping[str, Value], table: ShopTable) -> dict[str, Value]:
    return {name: row[name] for name in table.key}


def _filled(row: dict[str, Value], old: Mapping[str, Value] | None) -> dict[str, Value]:
    """The row with unchanged long values of the old one, if that is known."""
    if old is None:
        return row
    return {name: old.get(name) if value is UNCHANGED else value for name, value in row.items()}
