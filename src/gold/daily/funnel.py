"""The funnel by day: visitors who reached each step."""

STEPS = ("impression", "click", "visit", "search", "order")  # a visit is a page view or screen view
STEPS_ARRAY = "ARRAY({})".format(", ".join(f"'{step}'" for step in STEPS))


def _firsts() -> str:
    """Subqueries `after_N`: column `at_N` is the event with which a visitor reached step N on a day."""
    queries, before = list[str](), "taken"
    for number, step in enumerate(STEPS, start=1):
        later = f" AND at > at_{number - 1}" if number > 1 else ""
        first = f"MIN(IF(step = '{step}'{later}, at, NULL)) OVER (PARTITION BY day, visitor_id)"
        queries.append(f"after_{number} AS (SELECT *, {first} AS at_{number} FROM {before})")
        before = f"after_{number}"
    return ", ".join(queries)


_DEPTH = " + ".join(f"IF(at_{number} IS NULL, 0, 1)" for number in range(1, len(STEPS) + 1))

REACHED = f"""
    stepped AS (
        SELECT day, visitor_id, event_time, event_id,
            CASE role WHEN 'page_view' THEN 'visit' ELSE role END AS step FROM {{events}}
        UNION ALL SELECT day, visitor_id, event_time, event_id, 'click' FROM {{clicks}}
        UNION ALL SELECT day, visitor_id, event_time, event_id, 'order' FROM {{orders}}
    ),
    taken AS (
        SELECT day, visitor_id, step, STRUCT(event_time, event_id, step) AS at FROM stepped
    ),
    {_firsts()},
    reached AS (
        SELECT day, visitor_id, MAX({_DEPTH}) AS depth FROM after_{len(STEPS)}
        WHERE at_1 IS NOT NULL GROUP BY day, visitor_id
    )
"""
"""Subqueries over `events`, `clicks` and `orders`: `reached` has the number of steps (`depth`) that a visitor
reached on a day, if any. A visitor reaches a step with its first event after the one that reached the
previous step. Events are ordered by time, then UID.

Windows, since a list per visitor costs five times as much: docs/decisions/0077."""


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
