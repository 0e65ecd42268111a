"""Rows of dimensions: versions of rows of the shop's database, with the columns that conf/shop.yml maps."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from math import inf
from typing import Any, NamedTuple

import msgspec

from folds.records.decimals import MONEY, parse_decimal
from folds.shop.row_history import Change, versions_of

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, str | None]).decode


class SentChange(NamedTuple):
    """Row of silver.shop_changes, as far as the fold reads it; times in microseconds."""

    source: str
    source_table: str
    row_key: str | None
    kind: str
    lsn: int
    sequence: int
    committed_at: int
    row: str | None
    unchanged: list[str]
    ingested_at: int


class DimensionFold:
    """Computes all versions of one row.

    Args:
        columns: by column of the dimension, its type and the columns of the table of which the first that the
            row has counts.
        version: of the rules.
    """

    def __init__(self, columns: Mapping[str, tuple[str, Sequence[str]]], version: str) -> None:
        self._columns = [(_READ.get(type_, str), names) for type_, names in columns.values()]
        self._version = version

    def __call__(self, row_key: str, sent: Sequence[SentChange]) -> list[tuple[Any, ...]]:
        """Rows of the dimension, in the order of its columns.

        Args:
            row_key: primary key as JSON.
            sent: all changes of the row, and all truncates of its table; in any order, with copies.
        """
        source, table = sent[0].source, sent[0].source_table
        versions = versions_of([_change(each) for each in sent])
        ends: list[float] = [*(each.lsn for each in versions[1:]), inf][: len(versions)]
        return [
            (
                version_id(source, table, row_key, each.lsn),
                *(_first(each.row, names, read) for read, names in self._columns),
                each.valid_from,
                each.valid_to,
                each.changed_at,
                str(_encode(each.row), "utf-8"),
                *(source, table, row_key, each.lsn, self._version, _stamp(sent, each.lsn, end)),
            )
            for each, end in zip(versions, ends, strict=True)
        ]


def version_id(source: str, table: str, row_key: str, lsn: int) -> str:
    """The id of a version, derived from what it is a version of."""
    return hashlib.sha256(_encode([source, table, row_key, lsn])).hexdigest()[:32]


def _stamp(sent: Sequence[SentChange], first: int, last: float) -> int:
    """The latest ingest stamp of a row's own changes, from the one that made a version to the next one."""
    return max(each.ingested_at for each in sent if each.row_key and first <= each.lsn <= last)


def _change(sent: SentChange) -> Change:
    row = None if sent.row is None else _decode(sent.row)
    return Change(sent.lsn, sent.sequence, sent.kind, sent.committed_at, row, tuple(sent.unchanged))


def _first(row: Mapping[str, str | None], names: Sequence[str], read: Callable[[str], Any]) -> Any:
    value = next((row[name] for name in names if name in row), None)
    return None if value is None else read(value)


def _money(text: str) -> Decimal | None:
    return parse_decimal(text, MONEY)


_READ: dict[str, Callable[[str], Any]] = {"decimal(18,4)": _money}
