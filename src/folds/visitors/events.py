"""Events of one visitor, with the columns of silver.events that rules read."""

from decimal import Decimal
from typing import NamedTuple

PAGE_VIEW = "page_view"
"""The role of what counts as a page view."""

IMPRESSION = "impression"
"""The role of a promotion that was seen."""

SESSION_TYPES = frozenset(("page", "screen", "track"))
"""Types of events that are part of sessions; identify, group and alias are not."""


class Event(NamedTuple):
    """A row of silver.events. `event_time` is in microseconds, `value` is money in `currency`.

    The last four are None in a row that was written before these columns existed.
    """

    event_id: str
    type: str
    role: str
    visitor_id: str
    event_time: int
    url: str | None = None
    referrer: str | None = None
    campaign_source: str | None = None
    campaign_medium: str | None = None
    campaign_name: str | None = None
    campaign_term: str | None = None
    campaign_content: str | None = None
    campaign_id: str | None = None
    click_id: str | None = None
    click_id_kind: str | None = None
    channel: str | None = None
    promotion_id: str | None = None
    query: str | None = None
    product_id: str | None = None
    goal: str | None = None
    order_id: str | None = None
    refund_id: str | None = None
    value: Decimal | None = None
    currency: str | None = None
    rules_version: str | None = None
    has_context_campaign: bool | None = None
    is_server_event: bool | None = None
    has_internal_referrer: bool | None = None
    custom_dimensions: str | None = None

    @property
    def is_in_session(self) -> bool:
        """Whether the event is part of a session."""
        return self.type in SESSION_TYPES and not self.is_server_event
