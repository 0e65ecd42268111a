"""Decodes escapes of JSON and of addresses in any bytes, and maps places in the result to places before."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import partial

_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[\"\\/bfnrt]|%[0-9a-fA-F]{2}"
)
_CONTROL = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


class Decoded:
    """Bytes without escapes.

    Args:
        buffer: the bytes with escapes.
    """

    def __init__(self, buffer: bytes) -> None:
        self._after: list[int] = [0]
        self._before: list[int] = [0]
        pieces: list[bytes] = []
        length = place = 0
        for found in _ESCAPES.finditer(buffer):
            start, end = found.span()
            plain = _decode(found[0])
            pieces += (buffer[place:start], plain)
            length += start - place
            length += len(plain)
            place = end
            self._after.append(length)
            self._before.append(end)
        pieces.append(buffer[place:])
        self.content = b"".join(pieces)

    def place(self, after: int) -> int:
        """The place in the bytes before of a place in the content."""
        near = bisect_right(self._after, after) - 1
        return self._before[near] + after - self._after[near]


def escapes_of(identifiers: Iterable[str]) -> re.Pattern[bytes]:
    """A pattern of the escapes that characters of identifiers can have; others hide nothing."""
    text = "".join(identifiers)
    bytes_ = {b"%02x" % each for each in text.encode(errors="surrogatepass")}
    utf16 = text.encode("utf-16-be", errors="surrogatepass").hex().encode()
    units = {utf16[at : at + 4] for at in range(0, len(utf16), 4)}
    plain = {re.escape(b"\\" + each.encode()) for each in set(text) & set('"\\/')}
    spelled = (rb"%(?:25)*(?:" + b"|".join(sorted(bytes_)), rb"\\u(?:" + b"|".join(sorted(units)))
    return re.compile(b"|".join((*(each + b")" for each in spelled), *sorted(plain))), re.IGNORECASE)


def kind_of(written: bytes) -> str:
    """Which escapes a text was written with: json, or url."""
    return "json" if b"\\" in written else "url"


def _decode(escape: bytes) -> bytes:
    if escape[:1] == b"%":
        return bytes([int(escape[1:], 16)])
    if escape[1:2] != b"u":
        return _CONTROL.get(escape[1:], escape[1:])
    units = [int(escape[at : at + 4], 16) for at in range(2, len(escape), 6)]
    return (
        b"".join(map(partial(int.to_bytes, length=2, byteorder="big"), units))
        .decode("utf-16-be", errors="surrogatepass")
        .encode(errors="surrogatepass")
    )
