"""The funnel by day: visitors who reached each step."""

STEPS = ("impression", "click", "visit", "search", "order")  # a visit is a page view or screen view
STEPS_ARRAY = "ARRAY({})".format(", ".join(f"'{step}'" for step in STEPS))

REACHED = f"""
    taken AS (
        SELECT day, visitor_id, event_time, event_id,
            CASE role WHEN 'page_view' THEN 'visit' ELSE role END AS step FROM {{events}}
        UNION ALL SELECT day, visitor_id, event_time, event_id, 'click' FROM {{clicks}}
        UNION ALL SELECT day, visitor_id, event_time, event_id, 'order' FROM {{orders}}
    ),
    in_order AS (
        SELECT day, visitor_id, SORT_ARRAY(COLLECT_LIST(STRUCT(event_time, event_id, step))) AS events
        FROM taken GROUP BY day, visitor_id
    ),
    depths AS (
        SELECT day, visitor_id, AGGREGATE(
            events, 0, (depth, event) -> IF(event.step = GET({STEPS_ARRAY}, depth), depth + 1, depth)
        ) AS depth
        FROM in_order
    ),
    reached AS (SELECT day, visitor_id, depth FROM depths WHERE depth > 0)
"""
"""Subqueries over `events`, `clicks` and `orders`: `reached` has the number of steps (`depth`) that a visitor
reached on a day, if any. A visitor reaches a step with its first event after the one that reached the
previous step. Events are ordered by time, then UID."""


def funnel() -> str:
    """The query of gold.funnel, over `events`, `clicks` and `orders`; see `REACHED`.

    A day has rows for all steps if a visitor reached the first.
    """
    return f"""
        WITH {REACHED},
        by_day AS (SELECT day, depth, COUNT(*) AS visitors FROM reached GROUP BY day, depth),
        by_step AS (SELECT POSEXPLODE({STEPS_ARRAY}) AS (number, step), day, depth, visitors FROM by_day)
        SELECT day, step, CAST(SUM(IF(depth > number, visitors, 0)) AS BIGINT) AS visitors
        FROM by_step GROUP BY day, step
    """
