"""Input and output rows of the person fold, with the columns of the tables in their order.

Times are microseconds since 1970; money is a `Decimal` with four decimals. Rows are tuples, so that they can
be transposed to Arrow columns, structs included.
"""

from decimal import Decimal
from typing import NamedTuple

from folds.visitors.goals import Visit
from folds.visitors.touches import Impression, Touch
from folds.visitors.views import View

__all__ = [
    "AttributionRow",
    "ConversionRow",
    "Goal",
    "Impression",
    "PageView",
    "Touch",
    "TrailRow",
    "View",
    "Visit",
]


class Goal(NamedTuple):
    """A goal event as one conversion, read from silver.events or from a published row.

    Args:
        conversion_id: the same for all goal events of one conversion.
        person_id: the person; None for a bot. A bot's refund or cancellation counts for the person of its
            order.
        value: as sent, for a published row too; None if the event has none.
        is_published: read from gold.conversions, not from the event and its session.
    """

    conversion_id: str
    event_id: str
    visitor_id: str
    person_id: str | None
    goal: str
    order_id: str | None
    refund_id: str | None
    converted_at: int
    value: Decimal | None
    currency: str | None
    url: str | None
    referrer: str | None
    visit: Visit | None
    rules_version: str | None
    has_analytics_consent: bool | None = None
    has_attribution_consent: bool | None = None
    custom_dimensions: str | None = None
    is_published: bool = False

    @property
    def may_be_credited(self) -> bool:
        """Whether it has consent to attribution; a row from before that column existed does."""
        return self.has_attribution_consent is not False


class PageView(NamedTuple):
    """A page or screen event of a visitor."""

    visitor_id: str
    event_id: str
    at: int
    url: str | None
    referrer: str | None


class ConversionRow(NamedTuple):
    """Row of gold.conversions.

    Args:
        rate_valid_from: start of the exchange rate that the reporting value was computed with.
        traffic_channel: of its visit; without one, of its last touch; None without either.
        due_at: the watermark that makes it final; None once it is.
        is_credited: whether it takes part in credit: with consent to attribution, its own or its order's.
    """

    conversion_id: str
    event_id: str
    visitor_id: str
    person_id: str
    goal: str
    order_id: str | None
    refund_id: str | None
    over_refunded: bool
    converted_at: int
    value: Decimal | None
    value_sent: Decimal | None
    currency: str | None
    reporting_value: Decimal | None
    rate_valid_from: int | None
    is_of_order: bool
    is_counted: bool
    touches: int
    traffic_channel: str | None
    is_final: bool
    due_at: int | None
    url: str | None
    referrer: str | None
    visit: Visit | None
    rules_version: str | None
    has_analytics_consent: bool | None
    has_attribution_consent: bool | None
    is_credited: bool
    custom_dimensions: str | None = None


class AttributionRow(NamedTuple):
    """Row of gold.attribution."""

    conversion_id: str
    model: str
    touch_id: str | None
    position: int
    touched_at: int | None
    converted_at: int
    channel: str
    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str | None
    campaign_term: str | None
    campaign_content: str | None
    campaign_id: str | None
    click_id_kind: str | None
    promotion_id: str | None
    credit: float
    is_counted: bool
    credited_value: Decimal | None
    credited_reporting_value: Decimal | None
    rules_version: str | None


class TrailRow(NamedTuple):
    """Row of gold.trails."""

    conversion_id: str
    step: int
    kind: str
    event_id: str
    at: int
    converted_at: int
    url: str | None
    referrer: str | None
    promotion_id: str | None
    matched_on: str | None
