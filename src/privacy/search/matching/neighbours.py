"""Whether a match is an identifier of its own, or part of a longer one: by the bytes beside it."""

import base64
import string

from privacy.search.matching.patterns import HIDDEN, Pattern, is_latin

_WORD = frozenset((string.ascii_letters + string.digits).encode())
_MARKS = frozenset((string.punctuation + string.whitespace).encode())
_HEX = frozenset(string.hexdigits.encode())
_BASE64 = frozenset((string.ascii_letters + string.digits + "+/-_").encode())
_STANDARD = bytes.maketrans(b"-_", b"+/")


def stands_alone(buffer: bytes, start: int, end: int, pattern: Pattern) -> bool:
    """Whether no letter or digit continues the identifier, in the encoding that it was found in."""
    if pattern.encoding == "base64":
        return _in_base64(buffer, start, end, pattern)
    name = pattern.identifier
    if pattern.encoding == "hex":
        return not _continues(name, _hex_digit(buffer, start - 2), _hex_digit(buffer, end))
    if pattern.encoding == "utf-16":
        return not _continues(name, *_units(buffer, start, end, name))
    before, after = _byte(buffer, start - 1), _byte(buffer, end)
    return before in lengths(len(name)) or not _continues(name, before, after)


def lengths(size: int) -> frozenset[int]:
    """Bytes in front of a text that are its length: of Parquet and Thrift, of Kafka, and types of SQLite.

    A blank or a mark before a text is no letter anyway, and says nothing about where the text ends.
    """
    return frozenset((size, 2 * size, 2 * size + 12, 2 * size + 13)) - _MARKS


def _continues(name: bytes, before: int | None, after: int | None) -> bool:
    return (before in _WORD and name[0] in _WORD) or (after in _WORD and name[-1] in _WORD)


def _byte(buffer: bytes, place: int) -> int | None:
    return buffer[place] if 0 <= place < len(buffer) else None


def _hex_digit(buffer: bytes, place: int) -> int | None:
    """The byte that two hexadecimal digits stand for; None if there are none."""
    pair = buffer[place : place + 2] if place >= 0 else b""
    return int(pair, 16) if len(pair) == 2 and all(each in _HEX for each in pair) else None


def _units(buffer: bytes, start: int, end: int, name: bytes) -> tuple[int | None, int | None]:
    """The characters beside a text in UTF-16, in any byte order, if they are Latin."""
    if not is_latin(name.decode(errors="surrogatepass")):
        return None, None
    before = _byte(buffer, start - 2) if _byte(buffer, start - 1) == 0 else None
    return before, _byte(buffer, end + 1) if _byte(buffer, end) == 0 else None


def _in_base64(buffer: bytes, start: int, end: int, pattern: Pattern) -> bool:
    """Decode the groups around a match: its first and last digits depend on the bytes beside it."""
    group = start - HIDDEN[pattern.phase]
    begin, stop = start, end
    while begin > max(group - 4, 0) and buffer[begin - 1] in _BASE64:
        begin -= 1
    while stop < min(end + 8, len(buffer)) and buffer[stop] in _BASE64:
        stop += 1
    first = begin + (group - begin) % 4
    if first > group:
        return False  # the group of the first byte is not in Base64
    digits = buffer[first:stop].translate(_STANDARD)
    decoded = base64.b64decode(digits[: len(digits) - (len(digits) % 4 == 1)] + b"==")
    place = (group - first) // 4 * 3 + pattern.phase
    after = place + len(pattern.identifier)
    if decoded[place:after] != pattern.identifier:
        return False
    before = _last_of_text(decoded[max(place - 3, 0) : place])
    return not _continues(pattern.identifier, before, _last_of_text(decoded[after : after + 3][::-1]))


def _last_of_text(decoded: bytes) -> int | None:
    """The last byte of a text. None if it is none: digits of a path are in front of Base64 by chance."""
    return decoded[-1] if decoded and all(32 <= each < 127 for each in decoded) else None
