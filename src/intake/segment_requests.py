"""Requests of Segment's HTTP tracking API, which RudderStack's clients use too.

Paths and fields follow Segment's documentation of its HTTP API.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from folds.records.message import BYTE_ORDER_MARK
from intake.raw_json import NOT_JSON, decode, id_text, length, text
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

MOST_MESSAGE = 1_000_000
"""Bytes of one message as it is sent to Kafka, key and value: what a topic takes by default."""
_TOO_LARGE = f"an event is larger than {MOST_MESSAGE:,} bytes"
MOST_MESSAGES = 10_000
"""Messages of a batch."""
_FEW_OBJECTS, _BYTES_OF_OBJECT = 1_000, 8
"""A body has at most so many objects, and one more for so many bytes: decoding costs memory by object."""


_MISSING = Raw(b"")


class _Batch(Struct):
    """The fields of a batch that count, empty if missing; others are skipped and take no memory."""

    batch: Raw = _MISSING
    sentAt: Raw = _MISSING  # noqa: N815
    context: Raw = _MISSING


class _Keyed(Struct):
    writeKey: Raw = _MISSING  # noqa: N815


_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_batch = msgspec.json.Decoder(_Batch).decode
_decode_keyed = msgspec.json.Decoder(_Keyed).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


class BadRequestError(Exception):
    """A request that the API does not accept; the message says why."""


class TooLargeError(Exception):
    """A body, or an event in it, exceeds a limit; the message names it."""


class Message(NamedTuple):
    """A Kafka record of an event: the visitor as key, the event as JSON."""

    key: bytes | None
    value: bytes

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.key or b"") + len(self.value)


@dataclass(frozen=True)
class Request:
    """A decoded request body.

    Args:
        parts: its messages as received, not decoded.
        shared: fields of a batch that apply to each of its messages.
        type: type of the only message, from the path; None for a batch.
    """

    parts: Sequence[Raw] = ()
    shared: Mapping[str, Raw] = field(default_factory=dict)
    type: str | None = None

    @property
    def size(self) -> int:
        """Bytes of its messages with the shared fields, approximately."""
        shared = sum(map(length, self.shared.values()))
        return sum(map(length, self.parts)) + len(self.parts) * shared

    def messages(
        self, received_at: datetime, salt: str = "", reserved: tuple[str, ...] = ()
    ) -> list[Message]:
        """The messages as Kafka records.

        Sets `receivedAt` and, if the client left them out, `type`, `messageId`, `originalTimestamp` (from
        `timestamp`) and, in a batch, the batch's `sentAt` and `context`. Other fields stay unchanged, numbers
        with their text.

        Args:
            received_at: arrival time of the request.
            salt: part of generated ids. Without a salt, a message without id that is sent again gets the
                same id; with a different salt for each request, it gets another id.
            reserved: beginnings of ids that the sender may not use.

        Raises:
            BadRequestError: if a message is no JSON object, or its id is reserved.
            TooLargeError: if a message is too large.
        """
        shared = sum(map(length, self.shared.values()))
        if any(length(part) + shared > MOST_MESSAGE for part in self.parts):
            raise TooLargeError(_TOO_LARGE)
        stamp = Raw(_encode(rfc3339(received_at, "milliseconds")))
        digest: str | None = None
        found = []
        for number, part in enumerate(self.parts):
            message = {**self.shared, **_object(part, "a message")}
            uid = id_text(message.get("messageId"))
            if uid is None:
                digest = digest or self._digest(message) + salt
                message["messageId"] = Raw(_encode(sha256(f"{digest}{number}".encode()).hexdigest()[:32]))
            elif uid.startswith(reserved):
                raise BadRequestError(f"messageId {uid[:100]} is one of another source")
            found.append(_message(message, self.type, stamp))
            if found[-1].size > MOST_MESSAGE:  # some fields are in it twice
                raise TooLargeError(_TOO_LARGE)
        return found

    def _digest(self, message: Mapping[str, Raw]) -> str:
        """A digest of the content without `_STAMPED`, so equal when it is sent again.

        The path's type belongs to it where the message has none; that of `track` never did.
        """
        digest, separator = sha256(b"["), b""
        for part in self.parts:
            fields = _object(part, "a message")
            kept = {name: fields[name] for name in sorted(fields.keys() - _STAMPED)}
            digest.update(separator + _encode(kept))
            separator = b","
        digest.update(b"]")
        if context := self.shared.get("context"):
            digest.update(_encode(context))
        if self.type not in (None, "track") and "type" not in message:
            digest.update(self.type.encode())
        return digest.hexdigest()


def read_write_key(body: bytes) -> str | None:
    """The write key in a body; None if there is none."""
    try:
        return text(decode(_decode_keyed, body.removeprefix(BYTE_ORDER_MARK)).writeKey)
    except NOT_JSON:
        return None


def read_request(kind: str, body: bytes) -> Request:
    """Decode a request's body. Its messages are decoded later, one at a time.

    Args:
        kind: a key of `KINDS`.
        body: JSON, not compressed; a byte order mark at its start is skipped.

    Raises:
        BadRequestError: if the body does not have the form that the path requires.
        TooLargeError: if it has more objects or messages than the limits.
    """
    one, body = KINDS[kind], body.removeprefix(BYTE_ORDER_MARK)
    if one is not None:
        return Request((Raw(body),), type=one)
    if body.count(b"{") > _FEW_OBJECTS + len(body) // _BYTES_OF_OBJECT:
        raise TooLargeError("the body has too many objects for its size")
    try:
        whole = decode(_decode_batch, body)
    except NOT_JSON:
        raise BadRequestError("the body is no JSON object") from None
    parts = _list(whole.batch)
    if not parts:
        raise BadRequestError("the batch is empty")
    if len(parts) > MOST_MESSAGES:
        raise TooLargeError(f"the batch has more than {MOST_MESSAGES:,} messages")
    shared = {"sentAt": whole.sentAt, "context": whole.context}
    return Request(parts, {name: value for name, value in shared.items() if length(value)})


def _message(message: dict[str, Raw], type_: str | None, received_at: Raw) -> Message:
    message.pop("writeKey", None)
    if type_ is not None and "type" not in message:
        message["type"] = Raw(_encode(type_))
    if "originalTimestamp" not in message and "timestamp" in message:
        message["originalTimestamp"] = message["timestamp"]
    message["receivedAt"] = received_at
    visitor = id_text(message.get("anonymousId")) or id_text(message.get("userId"))
    return Message(visitor.encode() if visitor else None, _encode(message))


def _object(raw: bytes | Raw, what: str) -> dict[str, Raw]:
    try:
        return decode(_decode_object, raw)
    except NOT_JSON:
        raise BadRequestError(f"{what} is no JSON object") from None


def _list(raw: Raw) -> list[Raw]:
    if not length(raw):
        raise BadRequestError("the body has no batch")
    try:
        return _decode_list(raw)
    except NOT_JSON:
        raise BadRequestError("batch is no list") from None
