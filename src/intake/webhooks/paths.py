"""Values at paths of a JSON value, without decoding the rest."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw

from folds.records.json_text import text
from folds.records.message import BYTE_ORDER_MARK, decode_value

_NULL = b"null"

_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


class NotJsonError(Exception):
    """A body is not JSON in UTF-8."""


def read_json(body: bytes) -> Raw:
    """The body as one JSON value that the record parser accepts within the properties of a message.

    A byte order mark at its start is no part of it.

    Raises:
        NotJsonError: if it is not one.
    """
    body = body.removeprefix(BYTE_ORDER_MARK)
    outer = decode_value(b"[[" + body + b"]]", _decode_list) or []  # nested as deep as in the message
    inner = _decode_list(outer[0]) if len(outer) == 1 else []
    if len(inner) != 1:
        raise NotJsonError
    return inner[0]


def find_text(body: Raw, path: str | None) -> str | None:
    """The value at a path as text; None if it is missing, null, empty, an object or a list."""
    found = None if path is None else walk(body, path)
    if found is None or bytes(found)[:1] in (b"{", b"["):
        return None
    return text(found) or None


def walk(body: Raw, path: str) -> Raw | None:
    """The value at a path; None if it is missing or null."""
    value = body
    for name in path.split("."):
        inside = _inside(value, name)
        if inside is None:
            return None
        value = inside
    return None if bytes(value) == _NULL else value


def elements(body: Raw, path: str) -> Sequence[Raw] | None:
    """The elements of the list at a path; None if there is no list."""
    found = walk(body, path)
    try:
        return None if found is None else _decode_list(found)
    except msgspec.ValidationError:
        return None


def matches(body: Raw, when: Mapping[str, Sequence[str | None]]) -> bool:
    """Whether the body has one of the allowed values at each path; None allows a missing or empty one."""
    return all(_text_at(body, path) in values for path, values in when.items())


def _text_at(body: Raw, path: str) -> str | None:
    found = walk(body, path)
    return None if found is None else text(found) or None


def _inside(value: Raw, name: str) -> Raw | None:
    try:
        members: Mapping[str, Raw] = _decode_object(value)
        return members.get(name)
    except msgspec.ValidationError:
        pass
    try:
        items = _decode_list(value)
        return items[int(name)] if name.isascii() and name.isdigit() else None
    except (msgspec.ValidationError, IndexError):
        return None
