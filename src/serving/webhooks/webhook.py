"""A webhook: who wants what, and how far it has got it."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from serving.stream.hub import Wanted
from serving.stream.messages import as_time


@dataclass(frozen=True)
class Pending:
    """A delivery that the receiver has not taken yet. It is stored before it is first sent.

    Args:
        id: the same at each attempt.
        body: the request's.
        position: resume token after it.
    """

    id: str
    body: bytes
    position: str


@dataclass(frozen=True)
class Webhook:
    """A registered webhook.

    Args:
        id: its id.
        reader: name of who registered it, with whose role it reads.
        url: where deliveries go.
        wanted: the table or query.
        interval: least seconds between two deliveries.
        secret: what signs deliveries.
        position: resume token of what the receiver has taken; None before the first delivery.
        sent: number of the last delivery that it has taken, or that is not sent again.
        pending: the delivery that comes next, if it is known.
        failing_since: time of the first attempt that failed, since one succeeded; seconds since 1970.
        last_error: why the last attempt failed.
        disabled_at: when it was given up; seconds since 1970.
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
        """What is shown of it: not the secret."""
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
    """What is wanted, as JSON."""
    return json.dumps(asdict(wanted))


def wanted_from_text(text: str) -> Wanted:
    """What is wanted, from JSON."""
    found = json.loads(text)
    return Wanted(found["table"], found["sql"], found["where"], tuple(found["select"]))
