"""Converts JSON values to text: strings by their value, any other value as JSON text.

JSON text is compact, and each character is escaped in one way only. The last of duplicate keys wins. Numbers
stay as sent, except that a number on its own with an integer value becomes the integer.
"""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

NOTHING = msgspec.Raw(b"null")
"""The default of a missing field."""

_decode_text: Callable[[msgspec.Raw], str | None] = msgspec.json.Decoder(str | None).decode
_decode_any = msgspec.json.Decoder().decode
_INEXACT = 2**53
"""From here on, not every integer is a double: the digits of one that went through a double may be wrong."""

_FLOAT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^ \t\r\n,:\[\]{}"]+', re.DOTALL)


def text(raw: msgspec.Raw) -> str | None:
    """Convert a value to text: a string by its value, else its JSON text; None for null."""
    if raw is NOTHING:
        return None
    try:
        return _decode_text(raw)
    except msgspec.ValidationError:
        sent = str(raw, "utf-8")
    if sent.isdecimal():
        return sent
    return _number_text(sent) if _FLOAT.fullmatch(sent) else rewrite(sent)


def text_or_none(raw: msgspec.Raw) -> str | None:
    """Convert a value to text; None for null or empty text."""
    return text(raw) or None


def _number_text(sent: str) -> str:
    """The text of a JSON number: `1001.0` and `1.001e3` are `1001`, `-0` is `0`; others stay as sent."""
    near = float(sent)
    if not near.is_integer() or abs(near) >= _INEXACT:
        return sent
    try:
        exact = Decimal(sent)
    except InvalidOperation:  # the exponent has more digits than the library allows
        return sent
    return str(int(exact)) if exact == exact.to_integral_value() else sent


def object_text(raw: msgspec.Raw, members: Mapping[str, msgspec.Raw]) -> str:
    """Convert an object to JSON text.

    Args:
        raw: the object, as sent.
        members: its keys and values, decoded.
    """
    sent = str(raw, "utf-8")
    if "\\" in sent:
        return rewrite(sent)
    compact = str(msgspec.json.format(sent, indent=-1))
    # Every key ends with `":`; text that starts with a colon contains it too.
    most_keys = compact.count('":')
    if most_keys == len(members) or most_keys == _distinct_keys(compact):
        return compact
    return rewrite(compact)


def rewrite(sent: str) -> str:
    """Normalize valid JSON token by token: always correct, at several times the cost of checking first."""
    opened: list[dict[str, str] | list[str]] = []
    keys: list[str] = []  # the key of the next value, per open object
    for token in _TOKEN.findall(sent):
        if token in "{[":
            opened.append({} if token == "{" else [])
            keys.append("")
            continue
        if token in "}]":
            token = _write(opened.pop())
            keys.pop()
        elif "\\" in token:
            token = json.dumps(json.loads(token), ensure_ascii=False)
        if not opened:
            return str(token)
        inside = opened[-1]
        if isinstance(inside, list):
            inside.append(token)
        elif not keys[-1]:
            keys[-1] = token
        else:
            inside[keys[-1]], keys[-1] = token, ""
    raise ValueError("no JSON")


def _write(container: dict[str, str] | list[str]) -> str:
    if isinstance(container, list):
        return f"[{','.join(container)}]"
    return f"{{{','.join([f'{key}:{value}' for key, value in container.items()])}}}"


def _distinct_keys(compact: str) -> int | None:
    """Number of keys in all objects, duplicates counted once; None if they cannot be counted."""
    try:
        left: list[Any] = [_decode_any(compact)]
    except msgspec.DecodeError:  # a number too large for a float
        return None
    found = 0
    while left:
        value = left.pop()
        if isinstance(value, dict):
            found += len(value)
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
    return found
