"""Custom dimensions by day: visits and credited value of each value."""

from folds.persons.models import MODELS

OTHER = "(other)"
"""Value of the row that sums the values without rows of their own."""


def for_each_dimension(parameter: str) -> str:
    """A clause that gives each row once with each `dimension` of a parameter: names with commas between them.

    It is no join, since Spark computes one side of a Cartesian product again for each partition of the other.
    """
    return f"LATERAL VIEW EXPLODE(FILTER(SPLIT({{{parameter}}}, ','), name -> name <> '')) AS dimension"


def value_of(table: str) -> str:
    """The value of `dimension` in a row of a table."""
    return f"FROM_JSON({table}.custom_dimensions, 'map<string,string>')[dimension]"


def ranked(rows: str, measure: str) -> str:
    """A query of the places of values on their day: the most by a measure first, equals in order of text."""
    return f"""
        SELECT day, dimension, value,
            ROW_NUMBER() OVER (PARTITION BY day, dimension ORDER BY {measure} DESC, value) AS place
        FROM {rows} WHERE value IS NOT NULL GROUP BY day, dimension, value
    """


def dimension_performance() -> str:
    """The query of gold.dimension_performance, over `sessions`, `attribution` and `conversions`.

    `dimension_names` are the names of conf/dimensions.yml, with commas between them. A visit has the values
    of its first event, a credit those of its conversion; without one, the value is null. The `max_values`
    values of a day with most visits, of these with most credit, of these in order of text, have rows of
    their own. Credits are summed as integers, see `campaign_performance`.
    """
    models = ", ".join(f"'{model}'" for model in MODELS)
    return f"""
        WITH visits AS (
            SELECT day, dimension, {value_of("sessions")} AS value, channel, COUNT(*) AS visits
            FROM {{sessions}} AS sessions {for_each_dimension("dimension_names")} GROUP BY ALL
        ),
        together AS (
            SELECT day, dimension, value, channel, EXPLODE(ARRAY({models})) AS model, visits,
                0 AS credit, 0 AS money
            FROM visits
            UNION ALL
            SELECT attribution.day, dimension, {value_of("conversions")}, channel, model, 0,
                CASE WHEN is_counted IS NOT FALSE THEN CAST(FLOOR(credit * 1e15 + 0.5) AS BIGINT) ELSE 0 END,
                credited_reporting_value
            FROM {{attribution}} AS attribution
            LEFT JOIN {{conversions}} AS conversions ON attribution.conversion_id = conversions.conversion_id
            {for_each_dimension("dimension_names")}
        ),
        ranked AS ({ranked("together", "SUM(visits) DESC, SUM(CAST(credit AS DECIMAL(38, 0)))")}),
        shown AS (
            SELECT together.day, together.dimension,
                CASE WHEN place > {{max_values}} THEN '{OTHER}' ELSE together.value END AS value,
                channel, model, visits, credit, money
            FROM together LEFT JOIN ranked ON together.day = ranked.day
                AND together.dimension = ranked.dimension AND together.value = ranked.value
        )
        SELECT day, dimension, value, channel, model,
            CAST(SUM(visits) AS BIGINT) AS visits,
            CAST(SUM(CAST(credit AS DECIMAL(38, 0))) AS DOUBLE) / 1e15 AS conversions,
            TRY_CAST(COALESCE(SUM(money), 0) AS DECIMAL(18, 4)) AS credited_reporting_value
        FROM shown GROUP BY day, dimension, value, channel, model
    """
