"""An action of a visitor, before it is encoded as a message."""

from dataclasses import dataclass, field
from typing import Any

from millrace.sample_shop.visitors import Visitor


@dataclass(slots=True)
class Step:
    """An action of a visitor, with all fields of its message.

    Attributes:
        at: simulated second of the action, by an exact clock.
        kind: type of the event: page, screen, track, identify, group or alias.
        name: event name of a track, or name of a page or screen.
        properties: properties of the event; traits of an `identify` or `group`.
        user_id: user id, if the device knew it then.
        page: `context.page`; None if there is none.
        campaign: `context.campaign`; None if there is none.
        server: whether the shop's server sends it, without a browser.
        message: the message as first sent, from which copies are made.
        value: bytes of the message.
    """

    visitor: Visitor
    at: float
    kind: str
    name: str
    properties: dict[str, Any]
    user_id: str | None = None
    page: dict[str, str] | None = None
    campaign: dict[str, str] | None = None
    server: bool = False
    message: dict[str, Any] = field(default_factory=dict)
    value: bytes = b""
