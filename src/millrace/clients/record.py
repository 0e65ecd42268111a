"""A Kafka record of a client, and its key."""

import json
from typing import Any, NamedTuple

from folds.records.message import BYTE_ORDER_MARK


class Record(NamedTuple):
    """A record to send: key and value as bytes, and the number of its line (0: not from a file)."""

    key: bytes | None
    value: bytes
    line: int = 0


def key_of(value: bytes) -> bytes | None:
    """The Kafka key of a value: its anonymousId, else its userId, as UTF-8.

    So all events of a visitor are in one partition. A value that is not a JSON object or has
    neither id gets no key; silver rejects it, not the client.
    """
    try:
        event = json.loads(value.removeprefix(BYTE_ORDER_MARK).decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    identity = _as_text(event.get("anonymousId")) or _as_text(event.get("userId"))
    return identity.encode(errors="replace") if identity else None


def _as_text(identity: Any) -> str:
    """An id as text; other JSON values become their JSON text, as in silver."""
    if identity is None or isinstance(identity, str):
        return identity or ""
    return json.dumps(identity, separators=(",", ":"), ensure_ascii=False)
