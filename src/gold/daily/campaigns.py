"""Campaigns by day: impressions, clicks, visits and credited value."""

from folds.persons.models import MODELS

_CONVERSIONS = "(TRY_CAST(credit AS DECIMAL(22, 0)) * CAST(1e-15 AS DECIMAL(15, 15)))"
_NAMES = ("source", "medium", "name")


def campaign_performance() -> str:
    """The query of gold.campaign_performance, over `events`, `clicks`, `sessions`, `attribution` and `costs`.

    Input without a campaign and promotion is summed in a row without a name, so the rows of a day sum to all
    credited value of that day. Credits are summed as integer multiples of 1e-15, since a sum of doubles
    depends on the order of the rows; 64 bits would hold 9,223 conversions. Refunds and cancellations change
    only the money. A campaign has a row on a day with any of these, also with a cost alone.
    """
    models = ", ".join(f"'{model}'" for model in MODELS)
    seen = " UNION ALL ".join(
        f"SELECT day, {_campaign(promotion)}, {_measures(**{column: value})} FROM {table}"
        for column, value, table, promotion in (
            ("impressions", "1", "{events} WHERE role = 'impression'", "promotion_id"),
            ("clicks", "1", "{clicks}", "promotion_id"),
            ("visits", "1", "{sessions}", "NULL"),
            ("cost", "reporting_cost", "{costs}", "NULL"),
        )
    )
    return f"""
        WITH seen AS ({seen}),
        counted AS (
            SELECT day, campaign_source, campaign_medium, campaign_name, SUM(impressions) AS impressions,
                SUM(clicks) AS clicks, SUM(visits) AS visits, {_sum_unless_null("cost")}
            FROM seen GROUP BY day, campaign_source, campaign_medium, campaign_name
        ),
        together AS (
            SELECT day, campaign_source, campaign_medium, campaign_name, EXPLODE(ARRAY({models})) AS model,
                impressions, clicks, visits, cost, 0 AS credit, 0 AS money
            FROM counted
            UNION ALL
            SELECT day, {_campaign("promotion_id")}, model, 0, 0, 0, 0,
                CASE WHEN is_counted IS NOT FALSE THEN CAST(FLOOR(credit * 1e15 + 0.5) AS BIGINT) ELSE 0 END,
                credited_reporting_value
            FROM {{attribution}}
        ),
        summed AS (
            SELECT day, campaign_source, campaign_medium, campaign_name, model,
                CAST(SUM(impressions) AS BIGINT) AS impressions,
                CAST(SUM(clicks) AS BIGINT) AS clicks,
                CAST(SUM(visits) AS BIGINT) AS visits,
                SUM(CAST(credit AS DECIMAL(38, 0))) AS credit,
                TRY_CAST(COALESCE(SUM(money), 0) AS DECIMAL(18, 4)) AS credited_reporting_value,
                {_sum_unless_null("cost")}
            FROM together GROUP BY day, campaign_source, campaign_medium, campaign_name, model
        )
        SELECT day, campaign_source, campaign_medium, campaign_name, model, impressions, clicks, visits,
            CAST(credit AS DOUBLE) / 1e15 AS conversions, credited_reporting_value, cost,
            {_ratio("credited_reporting_value", "cost")} AS roas,
            {_ratio("NULLIF(cost, 0)", _CONVERSIONS)} AS cost_per_conversion,
            {_ratio("NULLIF(cost, 0)", "visits")} AS cost_per_visit
        FROM summed
    """


def _sum_unless_null(column: str) -> str:
    """A sum that is null if one of its terms is: a cost without a rate makes the whole cost unknown."""
    terms = f"TRY_CAST(SUM({column}) AS DECIMAL(18, 4))"
    return f"CASE WHEN COUNT({column}) = COUNT(*) THEN {terms} END AS {column}"


def _ratio(dividend: str, divisor: str) -> str:
    """A quotient of exact decimals, rounded half up to four decimals; null for a divisor of zero."""
    return f"TRY_CAST({dividend} / NULLIF({divisor}, 0) AS DECIMAL(18, 4))"


def _campaign(promotion: str) -> str:
    """Columns of a row's campaign: its own campaign, else its promotion as the name."""
    own = "COALESCE(campaign_source, campaign_medium, campaign_name) IS NOT NULL"
    other = {"name": promotion}
    return ", ".join(
        f"CASE WHEN {own} THEN campaign_{name} ELSE {other.get(name, 'NULL')} END AS campaign_{name}"
        for name in _NAMES
    )


def _measures(**given: str) -> str:
    """All measures: those given, and 0."""
    measures = dict.fromkeys(("impressions", "clicks", "visits", "cost"), "0") | given
    return ", ".join(f"{value} AS {name}" for name, value in measures.items())
