"""Promotions by day: impressions, clicks, and orders after clicks."""

from datetime import timedelta

from lakehouse.timestamps import span_micros

CONVERTING = timedelta(hours=24)
"""An order counts for a promotion if it follows a click within this time."""


def promotion_performance() -> str:
    """The query of gold.promotion_performance, over its impressions, its clicks and `next_orders`.

    A visitor converts on the day of a counted click if an order follows at the same time or less than
    `CONVERTING` later.
    """
    span = span_micros(CONVERTING)
    zeros = dict.fromkeys(("impressions", "clicks", "clicking_visitors", "converting_visitors"), "0")

    def counted(rows: str, **counts: str) -> str:
        columns = ", ".join(f"{sql} AS {name}" for name, sql in {**zeros, **counts}.items())
        return f"SELECT clicks.day, clicks.promotion_id, {columns} FROM {rows} GROUP BY 1, 2"

    visitors = "COUNT(DISTINCT clicks.visitor_id)"
    parts = (
        counted("{promotion_impressions} AS clicks", impressions="COUNT(*)"),
        counted("{promotion_clicks} AS clicks", clicks="COUNT(*)", clicking_visitors=visitors),
        counted(
            f"""{{promotion_clicks}} AS clicks JOIN {{next_orders}} AS orders
                ON clicks.visitor_id = orders.visitor_id AND orders.event_time >= clicks.event_time
                    AND orders.event_time < clicks.event_time + {span}
            """,
            converting_visitors=visitors,
        ),
    )
    sums = ", ".join(f"CAST(SUM({name}) AS BIGINT) AS {name}" for name in zeros)
    return f"SELECT day, promotion_id, {sums} FROM ({' UNION ALL '.join(parts)}) AS parts GROUP BY 1, 2"
