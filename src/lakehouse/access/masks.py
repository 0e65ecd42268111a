"""Masks of columns: a keyed hash, or null."""

import hmac
from enum import Enum

import pyarrow as pa

from lakehouse.access.mask_key import MaskKey

HASH_DIGITS = 32


class Mask(str, Enum):
    """What a role gets in place of a column's values.

    `hash` is a keyed hash, the same for the same text in all tables, so joins and counts stay right.
    `null` replaces each value by null. `hide` leaves the column out.
    """

    HASH = "hash"
    NULL = "null"
    HIDE = "hide"


def hash_text(value: str, key: MaskKey) -> str:
    """32 hexadecimal digits of HMAC-SHA-256: without the key, guesses can't be checked against it."""
    return hmac.digest(key.secret, value.encode(errors="surrogatepass"), "sha256").hex()[:HASH_DIGITS]


def masked(values: pa.ChunkedArray, mask: Mask, key: MaskKey) -> pa.ChunkedArray:
    """Apply a mask to a column; its type stays the same.

    Args:
        values: the column; text if the mask is a hash.
        mask: `hash` or `null`.
        key: of the hash.
    """
    if mask is not Mask.HASH:
        return pa.chunked_array([pa.nulls(len(values), values.type)])
    chunks = [_hashed(chunk, key) for chunk in values.chunks]
    return pa.chunked_array(chunks, values.type)


def _hashed(values: pa.Array, key: MaskKey) -> pa.Array:
    """Hash a column of text; each distinct value is hashed once."""
    found = values.cast(pa.string()).dictionary_encode()
    hashes = [None if each is None else hash_text(each, key) for each in found.dictionary.to_pylist()]
    return pa.array(hashes, pa.string()).take(found.indices).cast(values.type)
