"""What a client hands to Kafka, and the key it goes under."""

import json
from typing import Any, NamedTuple


class Record(NamedTuple):
    """One record to send: key and value as bytes, and the line it was read from (0: from no file)."""

    key: bytes | None
    value: bytes
    line: int = 0


def key_of(value: bytes) -> bytes | None:
    """The Kafka key of a value: its anonymousId, else its userId, as UTF-8.

    So all events of a visitor meet in one partition. A value that is no JSON object, or that
    carries neither identity, has no key: it is rejected downstream, never here.
    """
    try:
        event = json.loads(value.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    identity = _as_text(event.get("anonymousId")) or _as_text(event.get("userId"))
    return identity.encode(errors="replace") if identity else None


def _as_text(identity: Any) -> str:
    """Identities are text; anything else stands for its JSON text, as it does in silver."""
    if identity is None or isinstance(identity, str):
        return identity or ""
    return json.dumps(identity, separators=(",", ":"), ensure_ascii=False)
