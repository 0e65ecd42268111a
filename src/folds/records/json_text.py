"""JSON values as text: strings as they read, anything else as its JSON text.

JSON text is compact, the last of duplicate keys wins, numbers stay as written, and of several ways to escape
a character there is one.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

NOTHING = msgspec.Raw(b"null")
"""The default of a field that is missing."""

_decode_text: Callable[[msgspec.Raw], str | None] = msgspec.json.Decoder(str | None).decode
_decode_any = msgspec.json.Decoder().decode
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]|[^ \t\r\n,:\[\]{}"]+', re.DOTALL)


def text(raw: msgspec.Raw) -> str | None:
    """A value where text is expected: itself, else its JSON text; None for null."""
    if raw is NOTHING:
        return None
    try:
        return _decode_text(raw)
    except msgspec.ValidationError:
        return rewrite(str(raw, "utf-8"))


def text_or_none(raw: msgspec.Raw) -> str | None:
    """The same, None for empty text."""
    return text(raw) or None


def object_text(raw: msgspec.Raw, members: Mapping[str, msgspec.Raw]) -> str:
    """An object's JSON text.

    Args:
        raw: as it was sent.
        members: its keys and values, decoded.
    """
    sent = str(raw, "utf-8")
    if "\\" in sent:
        return rewrite(sent)
    compact = str(msgspec.json.format(sent, indent=-1))
    # Every key ends with `":`, and so begins a text whose first character is a colon.
    most_keys = compact.count('":')
    if most_keys == len(members) or most_keys == _distinct_keys(compact):
        return compact
    return rewrite(compact)


def rewrite(sent: str) -> str:
    """Valid JSON as JSON text, token by token. Right for any, at several times the cost of looking first."""
    opened: list[dict[str, str] | list[str]] = []
    keys: list[str] = []  # of each opened object, the key whose value comes next
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
    """Keys of all objects in it, duplicates counted once; None if they cannot be counted."""
    try:
        left: list[Any] = [_decode_any(compact)]
    except msgspec.DecodeError:  # a number beyond what a float holds
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
