"""Values of a request's JSON that are decoded as far as the collector reads them."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Raw

from folds.records.message import replace_unpaired_surrogates

Part = TypeVar("Part")

NOT_JSON = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""Errors of a decoder of bytes that are no JSON of the expected form."""

_MOST_ESCAPES = 100_000
"""Backslashes of a body whose halves of surrogate pairs are replaced: each costs time."""
_NUMERIC = b"-0123456789"

_decode_text = msgspec.json.Decoder(str | None).decode


def decode(decoder: Callable[[bytes | Raw], Part], raw: bytes | Raw) -> Part:
    """The decoded value. Half of a surrogate pair, as browsers send of a cut emoji, is read as `?`.

    Raises:
        Exception: one of `NOT_JSON`.
    """
    try:
        return decoder(raw)
    except msgspec.DecodeError:
        sent = bytes(raw)
        if b"\\u" not in sent or sent.count(b"\\") > _MOST_ESCAPES:
            raise
        return decoder(replace_unpaired_surrogates(sent))


def length(raw: Raw) -> int:
    """Bytes of a value."""
    return len(memoryview(raw))


def id_text(raw: Raw | None) -> str | None:
    """An id as text: that of a string, or the digits of a number; None for others."""
    if raw is None:
        return None
    sent = bytes(raw).strip()
    return sent.decode() if sent[0] in _NUMERIC else text(raw)


def text(raw: Raw | None) -> str | None:
    """A string; None if it is empty or another value."""
    if raw is None:
        return None
    try:
        return _decode_text(raw) or None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
