"""The funnel by day and custom dimension: visitors with each value who reached each step."""

from gold.daily.custom_dimensions import OTHER, for_each_dimension, ranked, value_of
from gold.daily.funnel import REACHED, STEPS_ARRAY


def funnel_by_dimension() -> str:
    """The query of gold.funnel_by_dimension, over `events`, `clicks`, `orders` and `sessions`.

    `session_names` are the custom dimensions of level `session`, with commas between them. On a day, a
    visitor has the values of its first event, by time, then UID: the first of a visit that starts on that
    day, or, as a visit may go on from the day before, an impression, page or search. So the rows of a day,
    dimension and step sum to the row of gold.funnel. The `max_values` values of a day with most visitors have
    rows of their own, as in `dimension_performance`.
    """
    return f"""
        WITH {REACHED},
        stated AS (
            SELECT day, visitor_id, event_time, event_id, custom_dimensions FROM {{events}}
            UNION ALL
            SELECT day, visitor_id, event_time, first_event_id, custom_dimensions FROM {{sessions}}
        ),
        first_stated AS (
            SELECT day, visitor_id,
                MIN(STRUCT(event_time, event_id, custom_dimensions)).custom_dimensions AS custom_dimensions
            FROM stated GROUP BY day, visitor_id
        ),
        valued AS (
            SELECT reached.day, dimension, {value_of("first_stated")} AS value, depth
            FROM reached JOIN first_stated
                ON reached.day = first_stated.day AND reached.visitor_id = first_stated.visitor_id
            {for_each_dimension("session_names")}
        ),
        ranked AS ({ranked("valued", "COUNT(*)")}),
        by_value AS (
            SELECT valued.day, valued.dimension,
                CASE WHEN place > {{max_values}} THEN '{OTHER}' ELSE valued.value END AS value, depth,
                COUNT(*) AS visitors
            FROM valued LEFT JOIN ranked ON valued.day = ranked.day
                AND valued.dimension = ranked.dimension AND valued.value = ranked.value
            GROUP BY ALL
        ),
        by_step AS (
            SELECT POSEXPLODE({STEPS_ARRAY}) AS (number, step), day, dimension, value, depth, visitors
            FROM by_value
        )
        SELECT day, dimension, value, step, CAST(SUM(IF(depth > number, visitors, 0)) AS BIGINT) AS visitors
        FROM by_step GROUP BY day, dimension, value, step
    """
