"""Byte patterns of identifiers: as text, cut by statistics, in UTF-16, Base64 and hexadecimal digits.

Texts with escapes, of JSON or of addresses, have too many spellings: `escapes` decodes them.
"""

import base64
from collections.abc import Iterable, Iterator
from typing import NamedTuple

CUTS = (32, 64)
"""Characters that statistics of Delta and of Parquet keep of a text."""

LEAST_BYTES = 5
"""Shorter identifiers are not searched in Base64 and in hexadecimal digits, where chance would find them."""

HIDDEN = {0: 0, 1: 2, 2: 3}
"""By bytes before it in its group of three, the first digits in Base64 that depend on other bytes too."""

_LEAST_CHARACTERS = 3  # of an identifier in UTF-16
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class Pattern(NamedTuple):
    """Bytes that an identifier has in an encoding.

    Args:
        content: the bytes.
        encoding: text, cut, url, utf-16, base64 or hex.
        identifier: its UTF-8 bytes; of a text that is cut, the part that is left.
        phase: in Base64, bytes before it in its group of three.
    """

    content: bytes
    encoding: str
    identifier: bytes
    phase: int = 0


def patterns_of(identifiers: Iterable[str]) -> list[Pattern]:
    """The patterns of some identifiers; each content is there once."""
    found = (pattern for identifier in identifiers for pattern in _patterns(identifier))
    by_content: dict[bytes, Pattern] = {}
    for pattern in found:
        by_content.setdefault(pattern.content, pattern)
    return list(by_content.values())


def _patterns(text: str) -> Iterator[Pattern]:
    content = text.encode(errors="surrogatepass")
    yield Pattern(content, "text", content)
    if " " in text:
        plus = content.replace(b" ", b"+")
        yield Pattern(plus, "url", plus)
    for length in CUTS:
        if len(text) > length:
            for cut in _cut(text, length):
                yield Pattern(cut, "cut", cut)
    if len(text) >= _LEAST_CHARACTERS:
        yield from _utf16(text, content)
    if len(content) >= LEAST_BYTES:
        yield from _base64(content)
        for digits in (content.hex(), content.hex().upper()):
            yield Pattern(digits.encode(), "hex", content)


def _cut(text: str, length: int) -> Iterator[bytes]:
    """The lower bound of a text, and the upper one, of which some writers raise the last character."""
    yield text[:length].encode(errors="surrogatepass")
    yield (text[: length - 1] + chr(ord(text[length - 1]) + 1)).encode(errors="surrogatepass")


def _utf16(text: str, content: bytes) -> Iterator[Pattern]:
    """Both byte orders; of Latin text, what they have in common, so that each is found once."""
    little, big = (text.encode(f"utf-16-{order}", errors="surrogatepass") for order in ("le", "be"))
    if is_latin(text):
        yield Pattern(little[:-1], "utf-16", content)
    else:
        yield Pattern(little, "utf-16", content)
        yield Pattern(big, "utf-16", content)


def is_latin(text: str) -> bool:
    """Whether each character is one byte and a zero byte in UTF-16."""
    return all(ord(each) < 256 for each in text)


def _base64(content: bytes) -> Iterator[Pattern]:
    for phase, hidden in HIDDEN.items():
        whole, rest = divmod(phase + len(content), 3)
        digits = base64.b64encode(bytes(phase) + content)[hidden : whole * 4 + rest]
        for spelled in {digits, digits.translate(_URL_SAFE)}:
            yield Pattern(spelled, "base64", content, phase)
