"""The funnel by day: visitors who reached each step."""

from itertools import pairwise

from lakehouse.rows.sql import Dialect

STEPS = ("impression", "click", "visit", "search", "order")  # a visit is a page view or screen view


def funnel(_: Dialect) -> str:
    """The query of gold.funnel, over `events`, `clicks` and `orders`.

    A visitor reaches a step with its first event after the event that reached the previous step, on the same
    day. Events are ordered by time, then UID. A day has rows for all steps if a visitor reached the first.
    """
    later = (_reached_after(before, step) for before, step in pairwise(STEPS))
    counts = " UNION ALL ".join(map(_count, STEPS))
    return f"""
        WITH taken AS (
            SELECT day, visitor_id, event_time, event_id,
                CASE role WHEN 'page_view' THEN 'visit' ELSE role END AS step FROM {{events}}
            UNION ALL SELECT day, visitor_id, event_time, event_id, 'click' FROM {{clicks}}
            UNION ALL SELECT day, visitor_id, event_time, event_id, 'order' FROM {{orders}}
        ),
        numbered AS (
            SELECT day, visitor_id, step,
                ROW_NUMBER() OVER (PARTITION BY day, visitor_id ORDER BY event_time, event_id) AS number
            FROM taken
        ),
        reached_{STEPS[0]} AS (
            SELECT day, visitor_id, MIN(number) AS number FROM numbered
            WHERE step = '{STEPS[0]}' GROUP BY day, visitor_id
        ),
        {", ".join(later)}
        {counts}
    """


def _reached_after(before: str, step: str) -> str:
    return f"""reached_{step} AS (
            SELECT later.day, later.visitor_id, MIN(later.number) AS number
            FROM numbered AS later JOIN reached_{before} AS before
                ON later.day = before.day AND later.visitor_id = before.visitor_id
                AND later.number > before.number
            WHERE later.step = '{step}' GROUP BY later.day, later.visitor_id
        )"""


def _count(step: str) -> str:
    return f"""
        SELECT days.day, '{step}' AS step, COUNT(reached.visitor_id) AS visitors
        FROM (SELECT DISTINCT day FROM reached_{STEPS[0]}) AS days
            LEFT JOIN reached_{step} AS reached ON days.day = reached.day
        GROUP BY days.day"""
