"""Decodes a record's bytes to the raw fields of a Segment message."""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Raw

from folds.records.json_limits import is_within_limits
from folds.records.json_text import NOTHING

Part = TypeVar("Part")

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""U+FEFF in UTF-8. At the start of a value, a line or a body it is no part of it."""

# A surrogate pair, an unpaired surrogate (group 1), or any other escape.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class Message(msgspec.Struct, rename="camel", gc=False):
    """The fields of a message that are read, as sent."""

    message_id: Raw = NOTHING
    type: Raw = NOTHING
    event: Raw = NOTHING
    anonymous_id: Raw = NOTHING
    user_id: Raw = NOTHING
    original_timestamp: Raw = NOTHING
    sent_at: Raw = NOTHING
    received_at: Raw = NOTHING
    timestamp: Raw = NOTHING
    context: Raw = NOTHING
    properties: Raw = NOTHING
    traits: Raw = NOTHING


class Context(msgspec.Struct, rename="camel", gc=False):
    """The fields of `context` that are read, as sent."""

    page: Raw = NOTHING
    campaign: Raw = NOTHING
    user_agent: Raw = NOTHING
    library: Raw = NOTHING
    consent: Raw = NOTHING


class Library(msgspec.Struct, gc=False):
    """The field of `context.library` that is read, as sent."""

    name: Raw = NOTHING


class Page(msgspec.Struct, gc=False):
    """The fields of `context.page` that are read, as sent."""

    url: Raw = NOTHING
    referrer: Raw = NOTHING


class Campaign(msgspec.Struct, gc=False):
    """The fields of `context.campaign` that are read, as sent."""

    source: Raw = NOTHING
    medium: Raw = NOTHING
    name: Raw = NOTHING
    term: Raw = NOTHING
    content: Raw = NOTHING
    id: Raw = NOTHING


decode_context = msgspec.json.Decoder(Context).decode
decode_library = msgspec.json.Decoder(Library).decode
decode_page = msgspec.json.Decoder(Page).decode
decode_campaign = msgspec.json.Decoder(Campaign).decode
decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_message = msgspec.json.Decoder(Message).decode


def decode_message(value: bytes) -> Message | None:
    """Decode a record's value as a message; None if it is not one JSON object in UTF-8."""
    return decode_value(value, _decode_message)


def decode_value(value: bytes, decode: Callable[[bytes], Part]) -> Part | None:
    """Decode a record's value as one JSON object; None if it is not one.

    The whole value must be valid UTF-8; the decoder does not check the parts that it skips. A byte order mark
    at the start is skipped.

    Args:
        value: raw bytes.
        decode: decoder of an object, with its fields as `Raw`.
    """
    try:
        if not value.isascii():
            value = value.removeprefix(BYTE_ORDER_MARK)
            value.decode()
        if not is_within_limits(value):
            return None
        return decode(replace_unpaired_surrogates(value))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def decode_part(raw: Raw, decode: Callable[[Raw], Part], nothing: Part) -> Part:
    """Decode a nested value; `nothing` if it has another type."""
    if raw is NOTHING:
        return nothing
    try:
        return decode(raw)
    except msgspec.ValidationError:
        return nothing


def replace_unpaired_surrogates(value: bytes) -> bytes:
    """The JSON with `?` for each escape that is half of a surrogate pair, which no decoder accepts."""
    return _ESCAPE.sub(_question_mark_for_unpaired, value) if b"\\u" in value else value


def _question_mark_for_unpaired(escape: re.Match[bytes]) -> bytes:
    return escape[0] if escape[1] is None else b"?"
