"""Gold: touches, conversions and credit."""

from lakehouse.contracts import channel_credit, daily, traffic
from lakehouse.contracts.cohorts import PERSONS
from lakehouse.contracts.items import CONVERSION_ITEMS
from lakehouse.contracts.orders import ORDER_COMPARISONS
from lakehouse.contracts.table import Column, Table
from lakehouse.contracts.timeline import VISITOR_TIMELINE

_CAMPAIGN = tuple(
    Column(f"campaign_{part}", "string", f"campaign's {part}")
    for part in ("source", "medium", "name", "term", "content", "id")
)
_CLICK_ID_KIND = Column(
    "click_id_kind", "string", "gclid, msclkid, fbclid or another; null without a click id"
)
_RULES_VERSION = Column("rules_version", "string", "version of the rules that it follows", provenance=True)
_ATTRIBUTION_CONSENT = Column(
    "has_attribution_consent", "boolean", "false: it earns and makes no credit, and is in no trail"
)
_EVENT = "event_id: string, at: timestamp, url: string, referrer: string"
_VIEW = (
    f"{_EVENT}, channel: string, campaign_source: string, campaign_medium: string, campaign_name: string, "
    "campaign_term: string, campaign_content: string, campaign_id: string, click_id: string, "
    "click_id_kind: string, promotion_id: string, matched_on: string"
)

_CREDIT_INPUTS = (
    "silver.events",
    "silver.sessions",
    "silver.identities",
    "silver.bots",
    "silver.consents",
    "silver.exchange_rates",
    "gold.touches",
    "gold.bot_refunds",
)

TOUCHES = Table(
    name="gold.touches",
    grain="touch",
    summary="a counted click, the start of a session or a campaign inside one, which can earn credit",
    inputs=(
        "silver.events",
        "silver.sessions",
        "silver.bots",
        "silver.consents",
    ),
    writer="publish",
    key=("touch_id",),
    columns=(
        Column(
            "touch_id", "string", "UID of the click, id of the session, or derived from the campaign's event"
        ),
        Column("visitor_id", "string", "who was touched"),
        Column("touched_at", "timestamp", "when"),
        Column(
            "kind", "string", "click (a counted one), visit (the start of a session) or campaign (inside it)"
        ),
        Column("event_id", "string", "UID of the click, of the session's first event, or of the campaign's"),
        Column("channel", "string", "channel of the click, of the session, or of the campaign"),
        *_CAMPAIGN,
        Column("click_id", "string", "click id of the address of the click, or of the session's first event"),
        _CLICK_ID_KIND,
        Column("promotion_id", "string", "promotion of a click"),
        Column("url", "string", "address of the click, or of the session's first event"),
        Column("referrer", "string", "address of the page before"),
        Column("impression", f"struct<{_EVENT}>", "what a click was on, if it was seen in time"),
        Column("view", f"struct<{_VIEW}>", "the impression that a visit is a view-through of"),
        Column("earns_credit", "boolean", "false: no touch, but a click that is a step of trails"),
        _RULES_VERSION,
        _ATTRIBUTION_CONSENT,
        Column("custom_dimensions", "string", "of the click, session or campaign's event, as a JSON object"),
    ),
    event_time="touched_at",
    is_mutable=True,
)

CONVERSIONS = Table(
    name="gold.conversions",
    grain="conversion",
    summary="a goal that was reached, with its person and value; or a refund or"
    " cancellation, with a negative value",
    inputs=_CREDIT_INPUTS,
    writer="publish",
    key=("conversion_id",),
    columns=(
        Column("conversion_id", "string", "derived from goal and order"),
        Column("event_id", "string", "UID of the goal event that counts"),
        Column("visitor_id", "string", "who reached the goal, by device"),
        Column("person_id", "string", "who reached the goal, by identity"),
        Column("goal", "string", "goal reached"),
        Column("order_id", "string", "order, if it has one"),
        Column("refund_id", "string", "refund of the order, if it has one"),
        Column(
            "over_refunded",
            "boolean",
            "a refund that counts for less than was sent, or for which nothing was left of the order",
        ),
        Column("converted_at", "timestamp", "event time of the goal"),
        Column(
            "value",
            "decimal(18,4)",
            "money, in `currency`; negative for a refund or cancellation, together at most the order's value",
        ),
        Column("value_sent", "decimal(18,4)", "amount in the event, negative for a refund; null without one"),
        Column("currency", "string", "ISO 4217 code"),
        Column("reporting_value", "decimal(18,4)", "money, in the reporting currency; null without a rate"),
        Column(
            "rate_valid_from",
            "timestamp",
            "start of the exchange rate that gave the reporting value; null if none was needed or known",
        ),
        Column(
            "is_of_order",
            "boolean",
            "the event has no amount or no currency: what is missing follows from the order",
        ),
        Column("is_counted", "boolean", "counts as a conversion: refunds and cancellations are money alone"),
        Column("touches", "bigint", "touches in the look-back"),
        Column(
            "traffic_channel",
            "string",
            "channel that windows count it under: of its session, else of its last touch",
        ),
        Column("is_final", "boolean", "the watermark has passed it"),
        Column("due_at", "timestamp", "watermark that makes it final; null once it is"),
        Column("url", "string", "address of the goal event"),
        Column("referrer", "string", "address of the page before"),
        Column(
            "visit",
            f"struct<session_id: string, {_EVENT}, channel: string>",
            "the session it came in, by its first event",
        ),
        _RULES_VERSION,
        Column("has_analytics_consent", "boolean", "false: it counts in no figures of visitors"),
        _ATTRIBUTION_CONSENT,
        Column(
            "is_credited",
            "boolean",
            "it takes part in credit: with consent to attribution, a refund or cancellation by its order's",
        ),
        Column("custom_dimensions", "string", "of the goal, its session and first touch, as a JSON object"),
    ),
    event_time="converted_at",
    is_mutable=True,
)

ATTRIBUTION = Table(
    name="gold.attribution",
    grain="conversion × model × touch",
    summary="the credit of a touch for a conversion, by one of six models",
    inputs=_CREDIT_INPUTS,
    writer="publish",
    key=("conversion_id", "model", "position"),
    columns=(
        Column("conversion_id", "string", "whose credit this is"),
        Column("model", "string", "how credit was shared"),
        Column("touch_id", "string", "that of gold.touches; null if there was no touch"),
        Column("position", "int", "1 = earliest; 0 = no touch"),
        Column("touched_at", "timestamp", "when the touch was"),
        Column("converted_at", "timestamp", "when the conversion was"),
        Column("channel", "string", "channel of the touch"),
        *_CAMPAIGN,
        _CLICK_ID_KIND,
        Column("promotion_id", "string", "promotion of a click"),
        Column("credit", "double", "0 to 1; sums to 1 by conversion and model"),
        Column("is_counted", "boolean", "of a conversion; false for credit of a refund or cancellation"),
        Column("credited_value", "decimal(18,4)", "sums to the conversion's value exactly"),
        Column("credited_reporting_value", "decimal(18,4)", "sums to its reporting value exactly"),
        _RULES_VERSION,
    ),
    event_time="converted_at",
    is_mutable=True,
)

TRAILS = Table(
    name="gold.trails",
    grain="conversion × step",
    summary="a step on the way to a conversion: impression, click, visit, goal",
    inputs=_CREDIT_INPUTS,
    writer="publish",
    key=("conversion_id", "step"),
    columns=(
        Column("conversion_id", "string", "whose trail this is"),
        Column("step", "int", "place in the chain of those known, from 1"),
        Column("kind", "string", "impression, view, click, visit, page_view or goal"),
        Column("event_id", "string", "UID of the event; of a visit, of its first"),
        Column("at", "timestamp", "when it was"),
        Column("converted_at", "timestamp", "when the conversion was"),
        Column("url", "string", "page address"),
        Column("referrer", "string", "address of the page before"),
        Column("promotion_id", "string", "promotion of an impression, view or click"),
        Column(
            "matched_on",
            "string",
            "what ties it to the trail: promotion, campaign, url, referrer, session, order; null of the goal",
        ),
    ),
    event_time="converted_at",
    is_mutable=True,
)

BOT_REFUNDS = Table(
    name="gold.bot_refunds",
    grain="refund or cancellation that a bot sent",
    summary="a refund or cancellation sent by a bot; it becomes a conversion once its order is a person's",
    inputs=(
        "silver.events",
        "silver.bots",
    ),
    writer="publish",
    key=("event_id",),
    columns=(
        Column("conversion_id", "string", "what it is in gold.conversions once its order is a person's"),
        Column("event_id", "string", "UID of the event"),
        Column("visitor_id", "string", "which bot"),
        Column("goal", "string", "goal of the event"),
        Column("order_id", "string", "order"),
        Column("refund_id", "string", "refund of the order, if it has one"),
        Column("converted_at", "timestamp", "event time"),
        Column("value", "decimal(18,4)", "amount in the event, 0 or less; null if it has none"),
        Column("currency", "string", "ISO 4217 code"),
        Column("url", "string", "page address"),
        Column("referrer", "string", "address of the page before"),
        _RULES_VERSION,
    ),
    event_time="converted_at",
)

LOCK = CONVERSIONS.name  # held while gold is written: its tables are computed from each other
SUMMARY_LOCK = traffic.TRAFFIC.name  # held while summaries are written, concurrently with micro-batches

TABLES = (
    TOUCHES,
    BOT_REFUNDS,
    CONVERSIONS,
    ATTRIBUTION,
    TRAILS,
    CONVERSION_ITEMS,
    ORDER_COMPARISONS,
    PERSONS,
    VISITOR_TIMELINE,
    *traffic.TABLES,
    *daily.TABLES,
    *channel_credit.TABLES,
)
