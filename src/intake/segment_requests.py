"""Requests of Segment's HTTP tracking API, which RudderStack's clients use too.

Paths and fields follow Segment's documentation of its HTTP API.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import Raw

from lakehouse.timestamps import rfc3339

KINDS: Mapping[str, str | None] = {
    **{name: name for name in ("track", "page", "screen", "identify", "group", "alias")},
    **{name[0]: name for name in ("track", "page", "screen", "identify", "group", "alias")},
    "batch": None,
    "b": None,
    "import": None,
}
"""Type of the only message in a body, by the last part of the path; None for a batch."""

_STAMPED = frozenset(("sentAt", "receivedAt"))
"""Fields that differ when a client sends the same message again."""

_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_text = msgspec.json.Decoder(str | None).decode
_encode = msgspec.json.Encoder().encode


class BadRequestError(Exception):
    """A request that the API does not accept; the message says why."""


class Message(NamedTuple):
    """A Kafka record of an event: the visitor as key, the event as JSON."""

    key: bytes | None
    value: bytes


@dataclass(frozen=True)
class Request:
    """A decoded request body.

    Args:
        parts: its messages as received.
        shared: fields of a batch that apply to each of its messages.
        type: type of the only message, from the path; None for a batch.
        write_key: the write key in the body; None without one.
        size: bytes of the body.
    """

    parts: list[dict[str, Raw]]
    shared: dict[str, Raw]
    type: str | None
    write_key: str | None
    size: int

    def messages(self, received_at: datetime, salt: str = "") -> list[Message]:
        """The messages as Kafka records.

        Sets `receivedAt` and, if the client left them out, `type`, `messageId`, `originalTimestamp` (from
        `timestamp`) and, in a batch, the batch's `sentAt` and `context`. Other fields stay unchanged, numbers
        with their text.

        Args:
            received_at: arrival time of the request.
            salt: part of generated ids. Without a salt, a message without id that is sent again gets the
                same id; with a different salt for each request, it gets another id.
        """
        stamp = Raw(_encode(rfc3339(received_at, "milliseconds")))
        digest = _digest(self.parts) + salt
        return [
            _message(self.shared | part, self.type, stamp, f"{digest}{number}")
            for number, part in enumerate(self.parts)
        ]


def read_request(kind: str, body: bytes) -> Request:
    """Decode a request's body.

    Args:
        kind: a key of `KINDS`.
        body: JSON, not compressed.

    Raises:
        BadRequestError: if the body does not have the form that the path requires.
    """
    whole = _object(body, "the body")
    one = KINDS[kind]
    if one is not None:
        parts = [whole]
    else:
        parts = [_object(part, "a message of the batch") for part in _list(whole.get("batch"))]
    if not parts:
        raise BadRequestError("the batch is empty")
    shared: dict[str, Raw] = {
        name: whole[name] for name in ("sentAt", "context") if one is None and name in whole
    }
    return Request(parts, shared, one, _text(whole.get("writeKey")), len(body))


def read_pixel(kind: str, data: str) -> Request:
    """Decode the message of a pixel: base64 of the JSON that `read_request` takes as body.

    Raises:
        BadRequestError: if it can't be decoded.
    """
    try:
        body = base64.b64decode(data.encode() + b"=" * (-len(data) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise BadRequestError("data is not base64") from None
    return read_request(kind, body)


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
    """A digest of the messages without `_STAMPED`, so equal when they are sent again."""
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
