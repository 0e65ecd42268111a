"""A webhook: its reader, its table or query, and its delivered position."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from serving.stream.messages import as_time
from serving.stream.wanted import Wanted


@dataclass(frozen=True)
class Pending:
    """A delivery that the receiver has not accepted yet. It is stored before its first attempt.

    Args:
        id: id of the delivery, the same for each attempt.
        body: body of the request.
        position: resume token after the delivery.
    """

    id: str
    body: bytes
    position: str


@dataclass(frozen=True)
class Webhook:
    """A registered webhook.

    Args:
        id: id of the webhook.
        reader: name of the reader who registered it, with whose role it reads.
        url: URL of the receiver.
        wanted: the table or query.
        interval: minimum seconds between two deliveries.
        secret: secret that signs deliveries.
        position: resume token after the last accepted delivery; None before the first delivery.
        sent: number of the last delivery that was accepted or dropped.
        pending: the next delivery, if known.
        failing_since: first failed attempt since the last success, in seconds since 1970.
        last_error: error of the last attempt.
        disabled_at: time of disabling, in seconds since 1970.
    """

    id: str
    reader: str
    url: str
    wanted: Wanted
    interval: float
    secret: str
    position: str | None = None
    sent: int = 0
    pending: Pending | None = None
    failing_since: float | None = None
    last_error: str | None = None
    disabled_at: float | None = None

    @property
    def state(self) -> str:
        """`active`, `failing` or `disabled`."""
        if self.disabled_at is not None:
            return "disabled"
        return "active" if self.failing_since is None else "failing"

    def shown(self) -> dict[str, Any]:
        """The fields that are shown to readers; without the secret."""
        asked = {name: value for name, value in asdict(self.wanted).items() if value}
        return {
            "id": self.id,
            "url": self.url,
            **asked,
            "interval": self.interval,
            "state": self.state,
            "position": self.position,
            "sent": self.sent,
            "failing_since": as_time(self.failing_since),
            "last_error": self.last_error,
        }


def wanted_to_text(wanted: Wanted) -> str:
    """A table or query as JSON."""
    return json.dumps(asdict(wanted))


def wanted_from_text(text: str) -> Wanted:
    """A table or query from JSON."""
    found = json.loads(text)
    return Wanted(found["table"], found["sql"], found["where"], tuple(found["select"]))
