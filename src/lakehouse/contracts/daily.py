"""Gold: metrics by day."""

from lakehouse.contracts.table import Column, Table

_CAMPAIGN = tuple(
    Column(f"campaign_{part}", "string", f"campaign's {part}") for part in ("source", "medium", "name")
)

CAMPAIGN_PERFORMANCE = Table(
    name="gold.campaign_performance",
    grain="day × campaign × model",
    summary="a day of a campaign by one model: impressions, clicks, visits, cost, credited value, return",
    inputs=(
        "silver.events",
        "silver.sessions",
        "silver.bots",
        "silver.consents",
        "silver.campaign_costs",
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
        Column("cost", "decimal(18,4)", "money spent, the same for each model; null if a rate is missing"),
        Column("roas", "decimal(18,4)", "credited_reporting_value / cost; null without a cost"),
        Column("cost_per_conversion", "decimal(18,4)", "cost / conversions; null without either"),
        Column("cost_per_visit", "decimal(18,4)", "cost / visits; null without either"),
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
        "silver.consents",
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
        "silver.consents",
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
        "silver.consents",
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
        "silver.consents",
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

DIMENSION_PERFORMANCE = Table(
    name="gold.dimension_performance",
    grain="day × custom dimension × value × channel × model",
    summary="a day of a custom dimension's value in a channel by one model: visits, credited value",
    inputs=(
        "silver.sessions",
        "silver.bots",
        "silver.consents",
        "silver.customers",
        "gold.conversions",
        "gold.attribution",
    ),
    writer="publish",
    cadence="summary",
    key=("day", "dimension", "value", "channel", "model"),
    columns=(
        Column("day", "date", "day in the business time zone"),
        Column("dimension", "string", "custom dimension, by its name in conf/dimensions.yml"),
        Column("value", "string", "its value; null without one, `(other)` for values that are not listed"),
        Column("channel", "string", "channel of visits and touches"),
        Column("model", "string", "how credit was shared"),
        Column("visits", "bigint", "sessions started, the same for each model"),
        Column("conversions", "double", "credit of the day's conversions, each to 15 decimals"),
        Column("credited_reporting_value", "decimal(18,4)", "money credited; null if more than fits"),
    ),
    event_time="day",
)

FUNNEL_BY_DIMENSION = Table(
    name="gold.funnel_by_dimension",
    grain="day × custom dimension × value × step",
    summary="a step of a day's funnel for a custom dimension's value: visitors who reached it",
    inputs=(
        "silver.events",
        "silver.sessions",
        "silver.bots",
        "silver.consents",
        "gold.touches",
        "gold.conversions",
    ),
    writer="publish",
    cadence="summary",
    key=("day", "dimension", "value", "step"),
    columns=(
        Column("day", "date", "day in the business time zone"),
        Column("dimension", "string", "custom dimension of level `session`, by its name"),
        Column("value", "string", "its value; null without one, `(other)` for values that are not listed"),
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
        "silver.consents",
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

TABLES = (
    CAMPAIGN_PERFORMANCE,
    SEARCH_PERFORMANCE,
    RESULT_PERFORMANCE,
    PROMOTION_PERFORMANCE,
    FUNNEL,
    DIMENSION_PERFORMANCE,
    FUNNEL_BY_DIMENSION,
    SKETCHES,
)
