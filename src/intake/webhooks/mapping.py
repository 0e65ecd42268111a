"""Maps JSON of providers to messages of Segment's specification."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

import msgspec
from msgspec import Raw

from folds.records.event_time import parse_time
from folds.records.parse import MAX_ID
from intake.event_settings import ORIGINAL, Events, Fields
from intake.segment_requests import MOST_MESSAGE, Message
from intake.webhooks.amounts import amounts
from intake.webhooks.paths import NotJsonError, find_text, matches, read_json, walk
from lakehouse.timestamps import from_micros, rfc3339

_SIZE = "original_bytes"
"""The property with the size of an original (bytes) that is too large to include."""

_encode = msgspec.json.Encoder().encode


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
        placeholders: texts that are no ids, in lower case.
    """

    source: str
    body: bytes
    received_at: datetime
    id: str | None = None
    name: str | None = None
    salt: str = ""
    placeholders: frozenset[str] = frozenset()


def map_event(arrival: Arrival, events: Events) -> Message:
    """Map a JSON value to a track event that the record parser accepts.

    Fields that the paths do not find are left out. The property `original` has the whole value; a message of
    more than `MOST_MESSAGE` bytes is sent without it, then also without user, event name and mapped
    properties.

    Args:
        arrival: a message with a JSON body.
        events: the paths.

    Raises:
        NotJsonError: if the body is not JSON.
    """
    return _map(arrival, events, read_json(arrival.body))


def map_any(arrival: Arrival, events: Events) -> Message:
    """Map a body like `map_event`; a body that is not JSON becomes text."""
    try:
        body = read_json(arrival.body)
    except NotJsonError:
        body = _as_text(arrival.body)
    return _map(arrival, events, body)


def find_id(body: bytes, events: Events) -> str | None:
    """The provider's id in a body; None if there is none."""
    try:
        return find_text(read_json(body), events.id)
    except NotJsonError:
        return None


def _as_text(body: bytes) -> Raw:
    return Raw(_encode(body.decode(errors="replace")))


def _map(arrival: Arrival, events: Events, body: Raw) -> Message:
    uid = _uid(arrival, find_text(body, events.id))
    sent_name = find_text(body, events.name) or arrival.name or arrival.source
    paths = events.fields_of(sent_name)
    fields = _fields(arrival, body, paths, uid) | {"event": _name(arrival, body, events, sent_name)}
    mapped = _properties(body, paths)
    message = _message(fields, {**mapped, ORIGINAL: body})
    if message.size > MOST_MESSAGE:
        size = {_SIZE: len(arrival.body)}
        message = _message(fields, {**mapped, **size})
        if message.size > MOST_MESSAGE:
            fields |= {"event": arrival.source, "userId": uid}
            fields.pop("anonymousId", None)
            message = _message(fields, size)
    return message


def _message(fields: Mapping[str, str], properties: Mapping[str, object]) -> Message:
    key = fields.get("anonymousId") or fields["userId"]
    return Message(key.encode(), _encode({**fields, "properties": properties}))


def _fields(arrival: Arrival, body: Raw, paths: Fields, uid: str) -> dict[str, str]:
    """The fields of the event beside its name and properties. Without any id, its user is its own UID."""
    user, anonymous = (_identity(arrival, body, path) for path in (paths.user, paths.anonymous))
    received = rfc3339(arrival.received_at, "milliseconds")
    happened = _time(find_text(body, paths.time))
    fields = {
        "type": "track",
        "messageId": uid,
        "userId": uid if user is None and anonymous is None else user,
        "anonymousId": anonymous,
        "timestamp": happened,
        "originalTimestamp": happened,
        "receivedAt": received,
    }
    return {field: value for field, value in fields.items() if value is not None}


def _identity(arrival: Arrival, body: Raw, path: str | None) -> str | None:
    """An id of a person; None if it is missing or a placeholder, which the record parser would not accept."""
    found = (find_text(body, path) or "").strip()
    return found if found and found.lower() not in arrival.placeholders else None


def _name(arrival: Arrival, body: Raw, events: Events, sent: str) -> str:
    """The event's name: translated if the body meets the conditions, else as the provider sent it.

    A name that is no translation would count all the same, so the source's stands in for it.
    """
    translated = events.translated(sent)
    if matches(body, events.fields_of(sent).when):
        return translated
    return sent if sent != translated else arrival.source


def _uid(arrival: Arrival, found: str | None) -> str:
    """The message's id: the source's name and the provider's id, else a hash of the body."""
    id_ = found or arrival.id
    if id_ is None:
        id_ = sha256(arrival.body + arrival.salt.encode()).hexdigest()[:32]
    uid = f"{arrival.source}:{id_}"
    return uid if len(uid) <= MAX_ID else f"{arrival.source}:{sha256(id_.encode()).hexdigest()}"


def _properties(body: Raw, fields: Fields) -> dict[str, object]:
    found = {name: walk(body, path) for name, path in fields.properties.items()}
    properties: dict[str, object] = {name: raw for name, raw in found.items() if raw is not None}
    currency = (find_text(body, fields.properties.get("currency")) or "").strip().upper()
    if currency:
        properties["currency"] = currency
    return properties | amounts(body, fields, currency)


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
