"""Gold: metrics by minute, window and day."""

from lakehouse.contracts.table import Column, Table

_CAMPAIGN = tuple(
    Column(f"campaign_{part}", "string", f"campaign's {part}") for part in ("source", "medium", "name")
)

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

_WINDOW = (
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
)

TRAFFIC = Table(
    name="gold.traffic",
    grain="window × channel",
    summary="a window, overall and by channel: events, visitors, sessions, clicks, conversions",
    inputs=("gold.visitor_minutes",),
    writer="publish",
    cadence="summary",
    key=("window_kind", "window_start", "channel"),
    columns=_WINDOW,
    event_time="window_start",
    is_mutable=True,
)

TRAFFIC_CHANGES = Table(
    name="gold.traffic_changes",
    grain="change of a row of gold.traffic",
    summary="a change of a row of gold.traffic: old or new row",
    inputs=("gold.visitor_minutes",),
    writer="publish",
    cadence="summary",
    key=(),
    columns=(
        *_WINDOW,
        Column("change", "string", "retract (what was) or replace (what is)"),
        Column("changed_at", "timestamp", "input done when it changed", provenance=True),
        Column("sequence", "bigint", "counts what changed together", provenance=True),
    ),
    event_time="window_start",
)

CAMPAIGN_PERFORMANCE = Table(
    name="gold.campaign_performance",
    grain="day × campaign × model",
    summary="a day of a campaign by one model: impressions, clicks, visits, credited value",
    inputs=(
        "silver.events",
        "silver.sessions",
        "silver.bots",
        "gold.touches",
        "gold.attribution",
    ),
    writer="publish",
    cadence="summary",
    key=("day", "campaign_source", "campaign_medium", "campaign_name", "model"),
    columns=(
        Column("day", "date", "day in the business time zone"),
        *_CAMPAIGN,
        Column("model", "string", "how credit was shared"),
        Column("impressions", "bigint", "promotions viewed, the same for each model"),
        Column("clicks", "bigint", "counted clicks, the same for each model"),
        Column("visits", "bigint", "sessions started, the same for each model"),
        Column("conversions", "double", "credit of the day's conversions, each to 15 decimals"),
        Column("credited_reporting_value", "decimal(18,4)", "money credited; null if more than fits"),
    ),
    event_time="day",
)

SEARCH_PERFORMANCE = Table(
    name="gold.search_performance",
    grain="day × query",
    summary="a day of a query: searches, clicks, products",
    inputs=(
        "silver.searches",
        "silver.bots",
    ),
    writer="publish",
    cadence="summary",
    key=("day", "query"),
    columns=(
        Column("day", "date", "day in the business time zone"),
        Column("query", "string", "words searched for, as typed; null if there are none"),
        Column("searches", "bigint", "searches"),
        Column("clicked_searches", "bigint", "searches with a click on a result"),
        Column("click_through", "double", "clicked_searches / searches"),
        Column(
            "top_products",
            "array<struct<product_id: string, clicks: bigint>>",
            "the ten most clicked, equals in order of text",
        ),
    ),
    event_time="day",
)

RESULT_PERFORMANCE = Table(
    name="gold.result_performance",
    grain="day × query × rank",
    summary="a rank in the results of a query on a day: times shown, times clicked",
    inputs=(
        "silver.search_results",
        "silver.bots",
    ),
    writer="publish",
    cadence="summary",
    key=("day", "query", "rank"),
    columns=(
        Column("day", "date", "day of the search in the business time zone"),
        Column("query", "string", "words searched for, as typed; null if there are none"),
        Column("rank", "int", "place in the list of results, from 1"),
        Column("shown", "bigint", "results shown there"),
        Column("clicked", "bigint", "of these, results that were clicked"),
    ),
    event_time="day",
)

PROMOTION_PERFORMANCE = Table(
    name="gold.promotion_performance",
    grain="day × promotion",
    summary="a day of a promotion: impressions, clicks, visitors who clicked, and who ordered within a day",
    inputs=(
        "silver.events",
        "silver.bots",
        "gold.touches",
        "gold.conversions",
    ),
    writer="publish",
    cadence="summary",
    key=("day", "promotion_id"),
    columns=(
        Column("day", "date", "day of the impression or click in the business time zone"),
        Column("promotion_id", "string", "promotion"),
        Column("impressions", "bigint", "times it was viewed"),
        Column("clicks", "bigint", "counted clicks on it"),
        Column("clicking_visitors", "bigint", "distinct visitors of these clicks"),
        Column("converting_visitors", "bigint", "of these, visitors with an order within 24 h after one"),
    ),
    event_time="day",
)

FUNNEL = Table(
    name="gold.funnel",
    grain="day × step",
    summary="a step of a day's funnel: visitors who reached it",
    inputs=(
        "silver.events",
        "silver.bots",
        "gold.touches",
        "gold.conversions",
    ),
    writer="publish",
    cadence="summary",
    key=("day", "step"),
    columns=(
        Column("day", "date", "day in the business time zone"),
        Column("step", "string", "impression, click, visit, search or order"),
        Column("visitors", "bigint", "visitors who reached it after the step before, on the same day"),
    ),
    event_time="day",
)

SKETCHES = Table(
    name="gold.sketches",
    grain="day × channel × campaign",
    summary="a day of a channel and campaign: mergeable sketches of its visitors and order values",
    inputs=(
        "silver.sessions",
        "silver.bots",
        "gold.conversions",
        "gold.attribution",
    ),
    writer="publish",
    cadence="summary",
    key=("day", "channel", "campaign_source", "campaign_medium", "campaign_name"),
    columns=(
        Column("day", "date", "day in the business time zone"),
        Column("channel", "string", "channel of sessions, or that `last_non_direct` credits with an order"),
        *_CAMPAIGN,
        Column("sessions", "bigint", "sessions started"),
        Column("visitors", "binary", "distinct visitors of these: an HLL sketch of Apache DataSketches"),
        Column("orders", "bigint", "orders with a value in the reporting currency"),
        Column("order_values", "binary", "these values: a KLL sketch; null if there are none"),
    ),
    event_time="day",
)
