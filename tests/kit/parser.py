"""Parses records with the pure parser, without Spark and tables."""

from pathlib import Path
from typing import Any

import msgspec

from folds.records import outcomes
from folds.records.parse import parse as parse_record
from folds.records.parse_rules import load_parse_rules
from kit.oracle_costs import COSTS_TOPIC
from kit.oracle_identities import RATES_TOPIC
from kit.oracle_wire import micros
from kit.records import Record

CONF = Path(__file__).parents[2] / "conf"
RULES = load_parse_rules(CONF)
CHANNELS = RULES.channels
TIMES = ("event_time", "arrival_time", "device_time")
FIELDS = (
    *("event_id", "type", "name", "role", "visitor_id", "user_id", "url", "referrer", "user_agent"),
    "library",
    *("campaign_source", "campaign_medium", "campaign_name", "campaign_term", "campaign_content"),
    *(
        "campaign_id",
        "has_context_campaign",
        "is_server_event",
        "has_internal_referrer",
        "click_id",
        "click_id_kind",
        "promotion_id",
        "query",
    ),
    *("product_id", "goal", "search_id", "shown_products"),
    *("time_source", "unread_time", "unread_value"),
    *("consent_analytics", "consent_attribution", "consent_ads"),
    *("order_id", "refund_id", "value", "currency", "properties", "custom_dimensions", "channel", *TIMES),
)
_EVERY = (*FIELDS, "reason", "heartbeat_at", "promise_source", "promised_at", "rate", "valid_from")


def parse(records: list[Record]) -> list[dict[str, Any]]:
    """One row per record, in order. Times are in microseconds; missing fields are None."""
    return [dict.fromkeys(_EVERY) | msgspec.structs.asdict(outcome_of(record)) for record in records]


def outcome_of(record: Record) -> outcomes.Outcome:
    """The outcome of parsing one record."""
    of_side = record.topic == RATES_TOPIC, record.topic == COSTS_TOPIC
    sent = outcomes.Record(record.value, micros(record.timestamp), record.headers, *of_side)
    return parse_record(sent, RULES)
