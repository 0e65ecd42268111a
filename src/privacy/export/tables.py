"""Which columns of a table say whose a row is."""

from typing import NamedTuple


class OfSpan(NamedTuple):
    """Rows of visitors, which are a person's by the span that an event is in.

    Args:
        time: column of the event's time.
        event: column of its UID.
    """

    time: str
    event: str


BY_SPAN = {
    "silver.events": OfSpan("event_time", "event_id"),
    "silver.sessions": OfSpan("started_at", "first_event_id"),
    "silver.impressions": OfSpan("event_time", "event_id"),
    "silver.searches": OfSpan("event_time", "event_id"),
    "silver.search_results": OfSpan("event_time", "search_event_id"),
    "silver.consents": OfSpan("valid_from", "event_id"),
    "gold.touches": OfSpan("touched_at", "event_id"),
    "gold.bot_refunds": OfSpan("converted_at", "event_id"),
    "gold.visitor_timeline": OfSpan("at", "entry_id"),
}

BY_MINUTE = ("gold.visitor_minutes",)
"""Rows of visitors by minute. A minute in which a span ends is the person's too."""

BY_VISITOR = ("silver.bots",)
BY_USER = ("silver.identities",)
BY_PERSON = ("gold.conversions", "gold.conversion_items", "gold.order_comparisons", "gold.persons")

BY_CUSTOMER = ("silver.customers", "silver.orders")
"""Rows of the shop's database with a `customer_id`."""

BY_CONVERSION = ("gold.attribution", "gold.trails")
"""Rows that name a conversion alone."""

BY_RECORD = (
    "bronze.kafka_records",
    "silver.rejected_events",
    "silver.duplicate_events",
    "silver.shop_changes",
)
"""Records of Kafka, by topic, partition and offset."""

BY_TEXT = {"silver.rejected_changes": "value", "ops.reads": "subject"}
"""Tables where a column of text may name anybody: records that are no changes, queries of readers."""

WITHOUT_PERSONS = (
    "silver.exchange_rates",
    "silver.cost_records",
    "silver.campaign_costs",
    "silver.products",
    "silver.campaigns",
    "gold.traffic",
    "gold.campaign_performance",
    "gold.search_performance",
    "gold.result_performance",
    "gold.promotion_performance",
    "gold.funnel",
    "gold.dimension_performance",
    "gold.funnel_by_dimension",
    "gold.sketches",
    "gold.channel_credit",
    "ops.ledger",
    "ops.expectations",
    "ops.gates",
    "ops.rules",
    "ops.rule_uses",
    "ops.digests",
    "ops.topics",
    "ops.erased_records",
    "ops.erased_identities",
)
"""Sums over many visitors, sketches and keyed hashes, and records of the pipeline itself."""
