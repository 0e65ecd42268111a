"""Gold: conversions, the credit they give, and traffic by window."""

from lakehouse.contracts.table import Column, Table

CONVERSIONS = Table(
    name="gold.conversions",
    grain="conversion",
    key=("conversion_id",),
    columns=(
        Column("conversion_id", "string", "derived from goal and order"),
        Column("event_id", "string", "UID of the goal event that counts"),
        Column("visitor_id", "string", "who reached the goal, by device"),
        Column("person_id", "string", "who reached the goal, by identity"),
        Column("goal", "string", "goal reached"),
        Column("order_id", "string", "order, if it has one"),
        Column("converted_at", "timestamp", "event time of the goal"),
        Column("value", "decimal(18,4)", "money, in `currency`"),
        Column("currency", "string", "ISO 4217 code"),
        Column("reporting_value", "decimal(18,4)", "money, in the reporting currency; null without a rate"),
        Column("touches", "bigint", "touches in the look-back"),
        Column("is_final", "boolean", "the watermark has passed it"),
    ),
    event_time="converted_at",
)

ATTRIBUTION = Table(
    name="gold.attribution",
    grain="conversion × model × touch",
    key=("conversion_id", "model", "position"),
    columns=(
        Column("conversion_id", "string", "whose credit this is"),
        Column("model", "string", "how credit was shared"),
        Column("touch_id", "string", "UID of the click, or id of the session; null if there was no touch"),
        Column("position", "int", "1 = earliest; 0 = no touch"),
        Column("touched_at", "timestamp", "when the touch was"),
        Column("converted_at", "timestamp", "when the conversion was"),
        Column("channel", "string", "channel of the touch"),
        Column("campaign_source", "string", "campaign's source of the touch"),
        Column("campaign_medium", "string", "campaign's medium of the touch"),
        Column("campaign_name", "string", "campaign's name of the touch"),
        Column("promotion_id", "string", "promotion of a click"),
        Column("credit", "double", "0 to 1; sums to 1 by conversion and model"),
        Column("credited_value", "decimal(18,4)", "sums to the conversion's value exactly"),
        Column("credited_reporting_value", "decimal(18,4)", "sums to its reporting value exactly"),
    ),
    event_time="converted_at",
)

TRAFFIC = Table(
    name="gold.traffic",
    grain="window × channel",
    key=("window_kind", "window_start", "channel"),
    columns=(
        Column("window_kind", "string", "1 minute"),
        Column("window_start", "timestamp", "start, included"),
        Column("window_end", "timestamp", "end, excluded"),
        Column("channel", "string", "channel of the events' session; null is all channels"),
        Column("events", "bigint", "events"),
        Column("page_views", "bigint", "page and screen events"),
        Column("visitors", "bigint", "distinct visitors, exact"),
        Column("sessions", "bigint", "sessions started"),
        Column("impressions", "bigint", "promotions viewed"),
        Column("clicks", "bigint", "counted clicks"),
        Column("searches", "bigint", "searches"),
        Column("conversions", "bigint", "conversions"),
        Column("reporting_value", "decimal(18,4)", "money converted, in the reporting currency"),
        Column("pane", "string", "early, on_time or late", provenance=True),
        Column("revision", "int", "0 for the first row of a window, then counting", provenance=True),
        Column("is_complete", "boolean", "the watermark has passed the end"),
    ),
    event_time="window_start",
)

TABLES = (CONVERSIONS, ATTRIBUTION, TRAFFIC)
