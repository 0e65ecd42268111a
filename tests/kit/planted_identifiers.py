"""Identifiers planted in bytes, in all spellings that the search has to find."""

import base64
import json
from collections.abc import Callable
from random import Random
from urllib.parse import quote

from hypothesis import strategies as st

IDENTIFIERS = st.one_of(
    st.uuids().map(str),
    st.from_regex(r"[a-z]{3,8}\.[a-z]{3,8}@[a-z]{3,8}\.example", fullmatch=True),
    st.from_regex(r"user[-_:/ ][0-9]{6,90}", fullmatch=True),
    st.from_regex(r"[äöüéß😀Ж]{3,5}[0-9]{5}", fullmatch=True),
)

FILLER = b" ,;:{}[]<>\n\t=&?!()*~\x00\x01\xfe"
"""Bytes that continue no word, and begin no escape."""


def _base64(text: str, chance: Random, *, url_safe: bool) -> bytes:
    padding = b" " * chance.randrange(4)
    content = padding + text.encode() + b" " * chance.randrange(4)
    return (base64.urlsafe_b64encode if url_safe else base64.b64encode)(content)


def _all_escaped(text: str, chance: Random) -> bytes:
    units = text.encode("utf-16-be")
    digits = "{:04x}" if chance.random() < 0.5 else "{:04X}"
    pairs = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return b"".join(rb"\u" + digits.format(each).encode() for each in pairs)


def _some_percent(text: str, chance: Random) -> bytes:
    return b"".join(
        b"%%%02X" % each if each > 127 or chance.random() < 0.5 else bytes([each]) for each in text.encode()
    )


SPELLINGS: dict[str, tuple[str, Callable[[str, Random], bytes]]] = {
    "plain": ("text", lambda text, _: text.encode()),
    "after \\n": ("text", lambda text, _: b"\\n" + text.encode() + b"\\n"),
    "JSON": ("json", lambda text, _: json.dumps(text).encode()),
    "JSON in JSON": ("json", lambda text, _: json.dumps(json.dumps(text)).encode()),
    "all escaped": ("json", _all_escaped),
    "address": ("url", lambda text, _: b"?u=" + quote(text, safe="").encode() + b"&"),
    "percent": ("url", _some_percent),
    "UTF-16 LE": ("utf-16", lambda text, _: text.encode("utf-16-le")),
    "UTF-16 BE": ("utf-16", lambda text, _: text.encode("utf-16-be")),
    "Base64": ("base64", lambda text, chance: _base64(text, chance, url_safe=False)),
    "Base64 for addresses": ("base64", lambda text, chance: _base64(text, chance, url_safe=True)),
    "hexadecimal": ("hex", lambda text, _: text.encode().hex().encode()),
    "HEXADECIMAL": ("hex", lambda text, _: text.encode().hex().upper().encode()),
}
"""By name: the encoding that the search names, and the spelling."""


def filler(chance: Random, size: int) -> bytes:
    """Bytes without identifiers."""
    return bytes(chance.choices(FILLER, k=size))
