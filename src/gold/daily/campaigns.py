"""Campaigns by day: impressions, clicks, visits and credited value."""

from folds.persons.models import MODELS

_NAMES = ("source", "medium", "name")


def campaign_performance() -> str:
    """The query of gold.campaign_performance, over `events`, `clicks`, `sessions` and `attribution`.

    Input without a campaign and promotion is summed in a row without a name, so the rows of a day sum to all
    credited value of that day. Credits are summed as integer multiples of 1e-15, since a sum of doubles
    depends on the order of the rows; 64 bits would hold 9,223 conversions. Refunds and cancellations change
    only the money.
    """
    models = ", ".join(f"'{model}'" for model in MODELS)
    seen = " UNION ALL ".join(
        f"SELECT day, {_campaign(promotion)}, {_counts(column)} FROM {table}"
        for column, table, promotion in (
            ("impressions", "{events} WHERE role = 'impression'", "promotion_id"),
            ("clicks", "{clicks}", "promotion_id"),
            ("visits", "{sessions}", "NULL"),
        )
    )
    return f"""
        WITH seen AS ({seen}),
        counted AS (
            SELECT day, campaign_source, campaign_medium, campaign_name, SUM(impressions) AS impressions,
                SUM(clicks) AS clicks, SUM(visits) AS visits
            FROM seen GROUP BY day, campaign_source, campaign_medium, campaign_name
        ),
        together AS (
            SELECT day, campaign_source, campaign_medium, campaign_name, EXPLODE(ARRAY({models})) AS model,
                impressions, clicks, visits, 0 AS credit, 0 AS money
            FROM counted
            UNION ALL
            SELECT day, {_campaign("promotion_id")}, model, 0, 0, 0,
                CASE WHEN is_counted IS NOT FALSE THEN CAST(FLOOR(credit * 1e15 + 0.5) AS BIGINT) ELSE 0 END,
                credited_reporting_value
            FROM {{attribution}}
        )
        SELECT day, campaign_source, campaign_medium, campaign_name, model,
            CAST(SUM(impressions) AS BIGINT) AS impressions,
            CAST(SUM(clicks) AS BIGINT) AS clicks,
            CAST(SUM(visits) AS BIGINT) AS visits,
            CAST(SUM(CAST(credit AS DECIMAL(38, 0))) AS DOUBLE) / 1e15 AS conversions,
            TRY_CAST(COALESCE(SUM(money), 0) AS DECIMAL(18, 4)) AS credited_reporting_value
        FROM together GROUP BY day, campaign_source, campaign_medium, campaign_name, model
    """


def _campaign(promotion: str) -> str:
    """Columns of a row's campaign: its own campaign, else its promotion as the name."""
    own = "COALESCE(campaign_source, campaign_medium, campaign_name) IS NOT NULL"
    other = {"name": promotion}
    return ", ".join(
        f"CASE WHEN {own} THEN campaign_{name} ELSE {other.get(name, 'NULL')} END AS campaign_{name}"
        for name in _NAMES
    )


def _counts(column: str) -> str:
    return ", ".join(f"{int(name == column)} AS {name}" for name in ("impressions", "clicks", "visits"))
