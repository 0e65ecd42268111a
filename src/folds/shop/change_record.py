"""Parses records of the topic of shop changes: a change of a row each."""

from typing import Any, NamedTuple

import msgspec

from folds.records.json_limits import is_within_limits
from folds.shop.row_history import DELETE, KINDS, TRUNCATE
from lakehouse.timestamps import LAST, to_micros

_LATEST = to_micros(LAST)
_MOST = 2**63 - 1
_LIMITS = {"sequence": 2**31 - 1, "lsn": _MOST, "transaction": _MOST, "committed_at": _LATEST}


class ShopChange(NamedTuple):
    """The columns of silver.shop_changes that one record determines; see its contract."""

    source: str
    source_table: str
    row_key: str | None
    kind: str
    lsn: int
    sequence: int
    transaction_id: int
    committed_at: int
    row: str | None
    unchanged: list[str]


class _Change(msgspec.Struct):
    source: str
    table: str
    kind: str
    lsn: int
    sequence: int
    committed_at: int
    key: dict[str, str] | None = None
    row: dict[str, str | None] | None = None
    unchanged: list[str] = []
    transaction: int = 0


_decode = msgspec.json.Decoder(_Change).decode
_encode = msgspec.json.Encoder().encode
_encode_key = msgspec.json.Encoder(order="sorted").encode


def parse_change(value: bytes | None, key: bytes | None) -> ShopChange | str | None:
    """Parse a record: a change, or the reason of its rejection; None for the tombstone of a deleted row.

    Args:
        value: the record's value.
        key: its key.
    """
    if value is None and key:
        return None
    if not value:
        return "empty"
    try:
        if not is_within_limits(value):
            return "not_json"
        change = _decode(value)
    except msgspec.ValidationError:
        return "bad_change"
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "not_json"
    return _checked(change)


def _checked(change: _Change) -> ShopChange | str:
    is_of_row = change.kind not in (DELETE, TRUNCATE)
    is_bad = (
        change.kind not in KINDS
        or not change.source
        or not change.table
        or (change.kind == TRUNCATE) == bool(change.key)
        or is_of_row != (change.row is not None)
        or any(not 0 <= getattr(change, name) <= most for name, most in _LIMITS.items())
    )
    return "bad_change" if is_bad else _as_row(change)


def _as_row(change: _Change) -> ShopChange:
    return ShopChange(
        change.source,
        change.table,
        _text(_encode_key, change.key),
        change.kind,
        change.lsn,
        change.sequence,
        change.transaction,
        change.committed_at,
        _text(_encode, change.row),
        change.unchanged,
    )


def _text(encode: Any, value: Any) -> str | None:
    return None if value is None else str(encode(value), "utf-8")
