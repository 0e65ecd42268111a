"""One thing a visitor does, before it is written down."""

from dataclasses import dataclass, field
from typing import Any

from millrace.sample_shop.visitors import Visitor


@dataclass(slots=True)
class Step:
    """What happened, when, and what the wire needs to know of it.

    Attributes:
        at: simulated second at which it happened, by a right clock.
        kind: the event's type: page, screen, track, identify, group or alias.
        name: a track's event, or a page's or screen's name.
        properties: of the event (the traits of an `identify` or `group`).
        user_id: the person, as far as the device knew then.
        page: `context.page`; None where there is none.
        campaign: `context.campaign`; None where there is none.
        server: sent by the shop's own server, without browser.
        message: the event as it was first sent, kept for a copy to be made of it.
        value: its bytes.
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
