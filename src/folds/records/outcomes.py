"""Outcomes of parsing a record. Times are in microseconds."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

import msgspec


class Record(msgspec.Struct, frozen=True, gc=False):
    """A Kafka record.

    Args:
        value: raw bytes; None for a record without a value.
        timestamp: Kafka's timestamp.
        headers: keys and values, in order.
        is_rate: whether it is from the exchange rate topic.
        is_cost: whether it is from the topic of campaign costs.
    """

    value: bytes | None
    timestamp: int
    headers: Sequence[tuple[str, bytes | None]] = ()
    is_rate: bool = False
    is_cost: bool = False


class Event(msgspec.Struct, frozen=True, gc=False):
    """The columns of silver.events that one record determines."""

    event_id: str
    type: str
    name: str | None
    role: str
    visitor_id: str
    user_id: str | None
    event_time: int
    time_source: str
    device_time: int | None
    arrival_time: int
    unread_time: str | None
    url: str | None
    referrer: str | None
    user_agent: str | None
    library: str | None
    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str | None
    campaign_term: str | None
    campaign_content: str | None
    campaign_id: str | None
    has_context_campaign: bool
    is_server_event: bool
    has_internal_referrer: bool
    click_id: str | None
    click_id_kind: str | None
    channel: str
    promotion_id: str | None
    query: str | None
    search_id: str | None
    product_id: str | None
    shown_products: list[str | None] | None
    goal: str | None
    order_id: str | None
    refund_id: str | None
    value: Decimal | None
    unread_value: str | None
    currency: str | None
    properties: str | None
    custom_dimensions: str | None = None
    consent_analytics: bool | None = None
    consent_attribution: bool | None = None
    consent_ads: bool | None = None


class Rejection(msgspec.Struct, frozen=True, gc=False):
    """A rejected record, with the first reason that applies."""

    reason: str
    arrival_time: int


class Heartbeat(msgspec.Struct, frozen=True, gc=False):
    """A record without a value that carries a time."""

    heartbeat_at: int


class Promise(msgspec.Struct, frozen=True, gc=False):
    """A record without a value, with the promise of a producer's node.

    Args:
        promise_source: `producer@node`, or the producer alone.
        promised_at: the node sends no more events from before this time; None if it has left.
    """

    promise_source: str
    promised_at: int | None


class ExchangeRate(msgspec.Struct, frozen=True, gc=False):
    """The rate of a currency, from a time on."""

    currency: str
    rate: Decimal
    valid_from: int
    arrival_time: int


class CampaignCost(msgspec.Struct, frozen=True, gc=False):
    """The columns of silver.cost_records that one record determines."""

    platform: str
    account: str
    day: date
    campaign_source: str | None
    campaign_medium: str | None
    campaign_name: str
    ad_group: str | None
    cost: Decimal
    currency: str
    clicks: int | None
    impressions: int | None
    loaded_at: int
    load_id: str
    load_row: int
    load_rows: int


Outcome = Event | Rejection | Heartbeat | Promise | ExchangeRate | CampaignCost
