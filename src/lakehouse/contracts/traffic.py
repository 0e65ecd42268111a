"""Gold: metrics by minute and window."""

from lakehouse.contracts.table import Column, Table

_COUNTS = (
    Column("events", "bigint", "events"),
    Column("page_views", "bigint", "page and screen events"),
    Column("sessions", "bigint", "sessions started"),
    Column("impressions", "bigint", "promotions viewed"),
    Column("clicks", "bigint", "counted clicks"),
    Column("searches", "bigint", "searches"),
    Column("conversions", "bigint", "conversions"),
)

VISITOR_MINUTES = Table(
    name="gold.visitor_minutes",
    grain="change of what a visitor did in a minute",
    summary="a change of a visitor's sums in a minute, from which traffic is computed",
    inputs=(
        "silver.events",
        "silver.sessions",
        "silver.bots",
        "silver.consents",
        "gold.touches",
        "gold.conversions",
    ),
    writer="publish",
    key=(),
    columns=(
        Column("visitor_id", "string", "who; null: something else in the quarter hour from then has changed"),
        Column("minute", "timestamp", "start of the minute"),
        Column("channel", "string", "channel of the events' session; null for events of no session"),
        *_COUNTS,
        Column("value", "decimal(38,4)", "money converted, in the reporting currency"),
        Column("sequence", "bigint", "counts what was made known together", provenance=True),
        Column("by_events", "boolean", "events changed it; false: a bot left, or a rate", provenance=True),
    ),
    event_time="minute",
)

_HELD = (
    "events: bigint, page_views: bigint, visitors: bigint, sessions: bigint, impressions: bigint, "
    "clicks: bigint, searches: bigint, conversions: bigint, value: decimal(38,4), by_events: bigint, "
    "new_events: bigint"
)

TRAFFIC = Table(
    name="gold.traffic",
    grain="window × channel",
    summary="a window, overall and by channel: events, visitors, sessions, clicks, conversions",
    inputs=("gold.visitor_minutes",),
    writer="publish",
    cadence="summary",
    key=("window_kind", "window_start", "channel"),
    columns=(
        Column("window_kind", "string", "name in conf/windows.yml: 1 minute, 1 hour, 1 day, …"),
        Column("window_start", "timestamp", "start, included"),
        Column("window_end", "timestamp", "end, excluded"),
        Column("channel", "string", "channel of the events' session; null is all channels"),
        *_COUNTS[:2],
        Column("visitors", "bigint", "distinct visitors, exact"),
        *_COUNTS[2:],
        Column("reporting_value", "decimal(18,4)", "money converted; null if it is more than fits"),
        Column("pane", "string", "early, on_time or late; null: nothing is published yet", provenance=True),
        Column("revision", "int", "0 for the first row of a window, then counting", provenance=True),
        Column("is_complete", "boolean", "the watermark has passed the end"),
        Column("value", "decimal(38,4)", "money converted, whatever it comes to"),
        Column("late_events", "bigint", "events after the end that only this counts", provenance=True),
        Column("held", f"struct<{_HELD}>", "sums that a trigger holds back", provenance=True),
    ),
    event_time="window_start",
    is_mutable=True,
)

TABLES = (VISITOR_MINUTES, TRAFFIC)
