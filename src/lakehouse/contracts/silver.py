"""Silver: events, duplicates, rejections, sessions, identities, bots, exchange rates and costs."""

from lakehouse.contracts.consents import CONSENTS, PURPOSES
from lakehouse.contracts.costs import CAMPAIGN_COSTS, COST_RECORDS
from lakehouse.contracts.exposures import IMPRESSIONS, SEARCH_RESULTS, SEARCHES
from lakehouse.contracts.table import TWO_WRITERS, Column, Table

_COORDINATES = (
    Column("topic", "string", "Kafka topic", provenance=True),
    Column("partition", "int", "Kafka partition", provenance=True),
    Column("offset", "bigint", "Kafka offset", provenance=True),
)
_INGESTED_AT = Column("ingested_at", "timestamp", "stamp of the bronze micro-batch", provenance=True)
_RULES_VERSION = Column("rules_version", "string", "version of the rules that it follows", provenance=True)
_KNOWN_BY = Column("ingested_at", "timestamp", "ingest stamp of the input behind it", provenance=True)

_UTM = {part: part for part in ("source", "medium", "name", "term", "content", "id")} | {"name": "campaign"}

EVENTS = Table(
    name="silver.events",
    grain="UID",
    summary="an event with corrected clock, role, campaign and channel; without duplicates",
    inputs=("bronze.kafka_records",),
    writer="refine",
    key=("event_id",),
    columns=(
        Column("event_id", "string", "the UID: messageId"),
        Column("type", "string", "page, screen, track, identify, group or alias"),
        Column("name", "string", "event name of a track"),
        Column("role", "string", "what it counts as: page_view, impression, click, search, goal and others"),
        Column("visitor_id", "string", "anonymousId, else userId"),
        Column("user_id", "string", "userId, if the event carries one"),
        Column("event_time", "timestamp", "when it happened, clock corrected"),
        Column("time_source", "string", "which time that is: corrected, timestamp, original or arrival"),
        Column("device_time", "timestamp", "when it happened by the device's clock"),
        Column("arrival_time", "timestamp", "when the server took it", provenance=True),
        Column("is_late", "boolean", "behind the watermark when it arrived", provenance=True),
        Column("unread_time", "string", "the first time that was sent and could not be read, as sent"),
        Column("url", "string", "page address"),
        Column("referrer", "string", "address of the page before"),
        Column("user_agent", "string", "browser or program"),
        Column("library", "string", "client library that sent it: context.library.name"),
        *(
            Column(f"campaign_{part}", "string", f"campaign's {part}, else utm_{utm} of the URL")
            for part, utm in _UTM.items()
        ),
        Column("has_context_campaign", "boolean", "source, medium, name or id stand in context.campaign"),
        Column("is_server_event", "boolean", "no anonymousId, no page address, no screen: in no session"),
        Column("has_internal_referrer", "boolean", "the referrer is excluded, or of the site itself"),
        Column("click_id", "string", "click id of the URL, the first of those that channels go by"),
        Column("click_id_kind", "string", "URL parameter of the click id: gclid, msclkid, fbclid and others"),
        Column("channel", "string", "channel by the event's own campaign, URL and referrer"),
        Column("promotion_id", "string", "promotion of an impression or click"),
        Column("query", "string", "words searched for"),
        Column("search_id", "string", "the site's own id of a search, of the search and of its results"),
        Column("product_id", "string", "product of a result click"),
        Column("shown_products", "array<string>", "products that a search or its results list, in order"),
        Column("goal", "string", "goal reached, if the event is one"),
        Column("order_id", "string", "order of a goal"),
        Column("refund_id", "string", "refund of an order"),
        Column("value", "decimal(18,4)", "money, in `currency`; negative for a refund"),
        Column("unread_value", "string", "the first amount that was sent and could not be read, as sent"),
        Column("currency", "string", "ISO 4217 code, as sent"),
        Column("properties", "string", "properties, whole, as JSON text"),
        Column(
            "custom_dimensions", "string", "values of custom dimensions, as a JSON object; null without any"
        ),
        *(
            Column(f"consent_{purpose}", "boolean", f"what the event states of {purpose}; null: nothing")
            for purpose in PURPOSES
        ),
        _RULES_VERSION,
        *_COORDINATES,
        _INGESTED_AT,
        Column("event_hash", "bigint", "xxhash64 of event_id: what look-ups of copies read"),
    ),
    event_time="event_time",
    stats_columns=(
        "event_time",
        "ingested_at",
        "event_hash",
        "type",
        "role",
        "goal",
        "order_id",
        "rules_version",
        "unread_time",
        "unread_value",
    ),
)

REJECTED_EVENTS = Table(
    name="silver.rejected_events",
    grain="record",
    summary="a record that could not be used, with the reason and its bytes",
    inputs=("bronze.kafka_records",),
    writer="refine",
    key=("topic", "partition", "offset"),
    columns=(
        Column("reason", "string", "the first reason that applies"),
        Column("value", "binary", "the record's value, byte for byte"),
        *_COORDINATES,
        Column("arrival_time", "timestamp", "when the server took it", provenance=True),
        _INGESTED_AT,
    ),
    event_time="arrival_time",
    stats_columns=("arrival_time", "ingested_at", "topic", "partition", "offset"),
)

DUPLICATE_EVENTS = Table(
    name="silver.duplicate_events",
    grain="record",
    summary="a record that duplicates another, and the record that was kept",
    inputs=("bronze.kafka_records",),
    writer="refine",
    key=("topic", "partition", "offset"),
    columns=(
        Column("event_id", "string", "the UID that was there already"),
        *_COORDINATES,
        Column("first_topic", "string", "topic of the record that stayed", provenance=True),
        Column("first_partition", "int", "partition of the record that stayed", provenance=True),
        Column("first_offset", "bigint", "offset of the record that stayed", provenance=True),
        _INGESTED_AT,
    ),
)

SESSIONS = Table(
    name="silver.sessions",
    grain="session",
    summary="a visit: first and last event, entry and exit page, campaign, channel",
    inputs=("silver.events",),
    writer="refine",
    key=("session_id",),
    columns=(
        Column("session_id", "string", "derived from visitor and start"),
        Column("visitor_id", "string", "whose session"),
        Column("started_at", "timestamp", "time of the first event"),
        Column("ended_at", "timestamp", "time of the last event"),
        Column("events", "bigint", "page, screen and track events"),
        Column("page_views", "bigint", "page and screen events"),
        Column("entry_url", "string", "address of the first event"),
        Column("exit_url", "string", "address of the last event"),
        Column("entry_referrer", "string", "referrer of the first event"),
        *(
            Column(f"campaign_{part}", "string", f"campaign's {part} of the first event, or as it continues")
            for part in _UTM
        ),
        Column("click_id", "string", "click id of the first event's address, or as it continues"),
        Column("click_id_kind", "string", "URL parameter of the click id"),
        Column("channel", "string", "channel of the first event, or of the session that it continues"),
        Column(
            "continues",
            "string",
            "id of the session that it continues: its campaign and channel are that one's",
        ),
        _RULES_VERSION,
        Column("is_open", "boolean", "the watermark has not passed its end by the gap"),
        Column("due_at", "timestamp", "watermark that closes it; null once it has"),
        Column("first_event_id", "string", "UID of the first event (time, then UID)"),
        Column("last_event_id", "string", "UID of the last event (time, then UID)"),
        Column("has_internal_referrer", "boolean", "the first event's is excluded, or of the site itself"),
        Column("custom_dimensions", "string", "those of the first event, as a JSON object"),
    ),
    event_time="started_at",
    is_mutable=True,
    partitioned_by=("is_open",),
    properties=TWO_WRITERS,
)

IDENTITIES = Table(
    name="silver.identities",
    grain="visitor × span",
    summary="whose a visitor's events are in a span of time; rows of visitors with user ids",
    inputs=("silver.events",),
    writer="repair",
    key=("event_id",),
    columns=(
        Column("visitor_id", "string", "whose events they are, by anonymousId"),
        Column("user_id", "string", "userId of the person that they belong to"),
        Column("valid_from", "timestamp", "time of the first event; null in the visitor's first span"),
        Column("valid_to", "timestamp", "time of the next span's first event; null in the last span"),
        Column("from_event_id", "string", "UID of the first event, for events of the same time"),
        Column("to_event_id", "string", "UID of the next span's first event"),
        Column("identified_at", "timestamp", "time of the span's first event with the userId"),
        Column("event_id", "string", "UID of that event"),
        _KNOWN_BY,
    ),
    event_time="identified_at",
)

BOTS = Table(
    name="silver.bots",
    grain="visitor",
    summary="a visitor that is a bot, and why",
    inputs=("silver.events",),
    writer="repair",
    key=("visitor_id",),
    columns=(
        Column("visitor_id", "string", "who is no person"),
        Column("reason", "string", "user_agent: it says so; rate: it is too quick"),
        Column("since", "timestamp", "time of the event that it is known by"),
        Column("matched", "string", "pattern or name of conf/ that the user agent of that event matches"),
        _RULES_VERSION,
        _KNOWN_BY,
    ),
    event_time="since",
)

EXCHANGE_RATES = Table(
    name="silver.exchange_rates",
    grain="currency × validity",
    summary="the value of a currency in the reporting currency, from when until when",
    inputs=("bronze.kafka_records",),
    writer="refine",
    key=("currency", "valid_from"),
    columns=(
        Column("currency", "string", "ISO 4217 code, in capitals"),
        Column("rate", "decimal(19,10)", "what one unit is worth in the reporting currency"),
        Column("valid_from", "timestamp", "start, included"),
        Column("valid_to", "timestamp", "end, excluded: the currency's next start; null for the latest"),
        Column("records", "bigint", "records that name this currency and start; the last to come counts"),
        *_COORDINATES,
        _INGESTED_AT,
    ),
    event_time="valid_from",
)

FOLDED = (SESSIONS, IMPRESSIONS, SEARCHES)  # computed in one pass over a visitor's events

LOCK = SESSIONS.name  # held while these, and the tables updated with them, are rewritten

TABLES = (
    EVENTS,
    REJECTED_EVENTS,
    DUPLICATE_EVENTS,
    SESSIONS,
    IMPRESSIONS,
    SEARCHES,
    SEARCH_RESULTS,
    IDENTITIES,
    BOTS,
    CONSENTS,
    EXCHANGE_RATES,
    COST_RECORDS,
    CAMPAIGN_COSTS,
)
