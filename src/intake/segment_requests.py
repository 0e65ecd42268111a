"""Requests of Segment's HTTP tracking API, which RudderStack's clients send too.

The paths and fields are those of Segment's documentation of its HTTP API.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime, timezone
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import Raw

KINDS: Mapping[str, str | None] = {
    **{name: name for name in ("track", "page", "screen", "identify", "group", "alias")},
    **{name[0]: name for name in ("track", "page", "screen", "identify", "group", "alias")},
    "batch": None,
    "b": None,
    "import": None,
}
"""By last part of the path, the type of the one message in the body; None for a batch."""

_STAMPED = frozenset(("sentAt", "receivedAt"))
"""What differs between two sendings of the same message."""

_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_text = msgspec.json.Decoder(str | None).decode
_encode = msgspec.json.Encoder().encode


class BadRequestError(Exception):
    """A request that is none of the API; the message says why."""


class Message(NamedTuple):
    """An event as it goes to Kafka: the visitor as key, the event as JSON."""

    key: bytes | None
    value: bytes


class Request(NamedTuple):
    """The messages of a request, and the write key that its body names."""

    messages: list[Message]
    write_key: str | None


def read_request(kind: str, body: bytes, received_at: datetime) -> Request:
    """Read the messages of a request's body.

    Each message gets `receivedAt`, and where the client left them out `type`, `messageId`,
    `originalTimestamp` (from its `timestamp`) and, in a batch, the batch's `sentAt` and `context`. All else
    stays as it came, numbers with their text. A message without id that is sent again gets the same id.

    Args:
        kind: a key of `KINDS`.
        body: JSON, not compressed.
        received_at: when the request arrived.

    Raises:
        BadRequestError: if the body is not what the path is for.
    """
    whole = _object(body, "the body")
    one = KINDS[kind]
    if one is not None:
        parts = [whole]
    else:
        parts = [_object(part, "a message of the batch") for part in _list(whole.get("batch"))]
    if not parts:
        raise BadRequestError("the batch is empty")
    shared = {name: whole[name] for name in ("sentAt", "context") if one is None and name in whole}
    stamp = Raw(_encode(_text_of(received_at)))
    request_digest = _digest(parts)
    messages = [
        _message(shared | part, one, stamp, f"{request_digest}{number}") for number, part in enumerate(parts)
    ]
    return Request(messages, _text(whole.get("writeKey")))


def read_pixel(kind: str, data: str, received_at: datetime) -> Request:
    """Read the message of a pixel: base64 of the JSON that the same path takes as body.

    Raises:
        BadRequestError: if it is none.
    """
    try:
        body = base64.b64decode(data.encode() + b"=" * (-len(data) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadRequestError("data is not base64") from None
    return read_request(kind, body, received_at)


def _message(fields: dict[str, Raw], type_: str | None, received_at: Raw, otherwise: str) -> Message:
    message = dict(fields)
    message.pop("writeKey", None)
    if type_ is not None and "type" not in message:
        message["type"] = Raw(_encode(type_))
    if "originalTimestamp" not in message and "timestamp" in message:
        message["originalTimestamp"] = message["timestamp"]
    if not _text(message.get("messageId")):
        message["messageId"] = Raw(_encode(sha256(otherwise.encode()).hexdigest()[:32]))
    message["receivedAt"] = received_at
    visitor = _text(message.get("anonymousId")) or _text(message.get("userId"))
    return Message(visitor.encode() if visitor else None, _encode(message))


def _digest(parts: list[dict[str, Raw]]) -> str:
    """A digest of the messages without what a second sending changes."""
    kept = [{name: part[name] for name in sorted(part.keys() - _STAMPED)} for part in parts]
    return sha256(_encode(kept)).hexdigest()


def _object(raw: bytes | Raw, what: str) -> dict[str, Raw]:
    try:
        return _decode_object(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadRequestError(f"{what} is no JSON object") from None


def _list(raw: Raw | None) -> list[Raw]:
    if raw is None:
        raise BadRequestError("the body has no batch")
    try:
        return _decode_list(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise BadRequestError("batch is no list") from None


def _text(raw: Raw | None) -> str | None:
    if raw is None:
        return None
    try:
        return _decode_text(raw) or None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _text_of(at: datetime) -> str:
    return at.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
