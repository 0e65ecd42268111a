"""Maps JSON of providers to messages of Segment's specification."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

import msgspec
from msgspec import Raw

from folds.records.event_time import parse_time
from folds.records.json_text import text
from folds.records.message import BYTE_ORDER_MARK, decode_value
from folds.records.parse import MAX_ID
from intake.providers import ORIGINAL, Events
from intake.segment_requests import Message
from intake.webhooks.minor_units import major_units
from lakehouse.timestamps import from_micros, rfc3339

MOST = 1_000_000
"""Bytes of one message: what a topic takes by default."""

_SIZE = "original_bytes"
"""The property with the size of an original (bytes) that is too large to include."""

_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


class NotJsonError(Exception):
    """A body is not JSON in UTF-8."""


@dataclass(frozen=True)
class Arrival:
    """A message of a provider.

    Args:
        source: name of the source.
        body: bytes as received.
        received_at: arrival time.
        id: id of the message, if the body has none.
        name: name of the event, if the body has none.
        salt: part of an id that is generated from the body; without a salt, equal bodies get equal ids.
    """

    source: str
    body: bytes
    received_at: datetime
    id: str | None = None
    name: str | None = None
    salt: str = ""


def map_event(arrival: Arrival, events: Events) -> Message:
    """Map a JSON value to a track event that the record parser accepts.

    Fields that the paths do not find are left out. The property `original` has the whole value; a message of
    more than `MOST` bytes is sent without it, then also without user, event name and mapped properties.

    Args:
        arrival: a message with a JSON body.
        events: the paths.

    Raises:
        NotJsonError: if the body is not JSON.
    """
    return _map(arrival, events, _read(arrival.body))


def map_any(arrival: Arrival, events: Events) -> Message:
    """Map a body like `map_event`; a body that is not JSON becomes text."""
    try:
        body = _read(arrival.body)
    except NotJsonError:
        body = _as_text(arrival.body)
    return _map(arrival, events, body)


def find_id(body: bytes, events: Events) -> str | None:
    """The provider's id in a body; None if there is none."""
    try:
        return _find(_read(body), events.id)
    except NotJsonError:
        return None


def _read(body: bytes) -> Raw:
    """The body as one JSON value that the record parser accepts within the properties of a message."""
    body = body.removeprefix(BYTE_ORDER_MARK)
    outer = decode_value(b"[[" + body + b"]]", _decode_list) or []  # nested as deep as in the message
    inner = _decode_list(outer[0]) if len(outer) == 1 else []
    if len(inner) != 1:
        raise NotJsonError
    return inner[0]


def _as_text(body: bytes) -> Raw:
    return Raw(_encode(body.decode(errors="replace")))


def _map(arrival: Arrival, events: Events, body: Raw) -> Message:
    uid = _uid(arrival, _find(body, events.id))
    name = _find(body, events.name) or arrival.name or arrival.source
    user, anonymous = _find(body, events.user), _find(body, events.anonymous)
    if user is None and anonymous is None:
        anonymous = uid
    received = rfc3339(arrival.received_at, "milliseconds")
    happened = _time(_find(body, events.time))
    fields = {
        "type": "track",
        "event": events.names.get(name, name),
        "messageId": uid,
        "userId": user,
        "anonymousId": anonymous,
        "timestamp": happened,
        "originalTimestamp": happened,
        "receivedAt": received,
    }
    fields = {field: value for field, value in fields.items() if value is not None}
    mapped = _properties(body, events)
    value = _encode({**fields, "properties": {**mapped, ORIGINAL: body}})
    if len(value) > MOST:
        size = {_SIZE: len(arrival.body)}
        value = _encode({**fields, "properties": {**mapped, **size}})
        if len(value) > MOST:
            fields |= {"event": arrival.source, "anonymousId": uid}
            fields.pop("userId", None)
            return Message(uid.encode(), _encode({**fields, "properties": size}))
    return Message((anonymous or user or uid).encode(), value)


def _uid(arrival: Arrival, found: str | None) -> str:
    """The message's id: the source's name and the provider's id, else a hash of the body."""
    id_ = found or arrival.id
    if id_ is None:
        id_ = sha256(arrival.body + arrival.salt.encode()).hexdigest()[:32]
    uid = f"{arrival.source}:{id_}"
    return uid if len(uid) <= MAX_ID else f"{arrival.source}:{sha256(id_.encode()).hexdigest()}"


def _properties(body: Raw, events: Events) -> dict[str, object]:
    found = {name: _walk(body, path) for name, path in events.properties.items()}
    properties: dict[str, object] = {name: raw for name, raw in found.items() if raw is not None}
    currency = (_find(body, events.properties.get("currency")) or "").strip().upper()
    if currency:
        properties["currency"] = currency
        for name, path in events.minor_units.items():
            amount = major_units(_find(body, path), currency, events.decimals)
            properties |= {} if amount is None else {name: amount}
    return properties


def _time(given: str | None) -> str | None:
    """A time as RFC 3339; one that does not parse as sent, cut, since the record parser counts it."""
    if given is None:
        return None
    at = parse_time(given)
    if at is None and len(given) <= MAX_ID:
        at = _unix(given)
    return given[:MAX_ID] if at is None else rfc3339(from_micros(at), "microseconds")


def _unix(given: str) -> int | None:
    whole, _, fraction = given.partition(".")
    if not (whole.isascii() and whole.isdigit() and len(whole) <= 11):
        return None
    if fraction and not (fraction.isascii() and fraction.isdigit()):
        return None
    return int(whole) * 1_000_000 + int(fraction[:6].ljust(6, "0"))


def _find(body: Raw, path: str | None) -> str | None:
    """The value at a path as text; None if it is missing, null, empty, an object or a list."""
    found = None if path is None else _walk(body, path)
    if found is None or bytes(found)[:1] in (b"{", b"["):
        return None
    return text(found) or None


def _walk(body: Raw, path: str) -> Raw | None:
    """The value at a path; None if it is missing or null."""
    value = body
    for name in path.split("."):
        inside = _inside(value, name)
        if inside is None:
            return None
        value = inside
    return None if bytes(value) == b"null" else value


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
