"""Conversions: goals reached, each counted once, and whose touches earn them."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from folds.persons.records import ConversionRow, Goal


def first_goals(goals: Iterable[Goal]) -> list[Goal]:
    """Keep one goal a conversion: the earliest, by time, then UID.

    Args:
        goals: in any order. Of one that is there as an event and as a published row, the one that names its
            session stays; if both do, the event.

    Returns:
        One a conversion_id.
    """
    first: dict[str, Goal] = {}
    for goal in goals:
        known = first.setdefault(goal.conversion_id, goal)
        if known is not goal and _rank(goal) < _rank(known):
            first[goal.conversion_id] = goal
    return list(first.values())


def _rank(goal: Goal) -> tuple[int, str, bool, bool]:
    return goal.converted_at, goal.event_id, goal.visit is None, goal.is_published


def find_anchors(conversions: Iterable[Goal], refunds: Mapping[str, str]) -> list[tuple[Goal, Goal]]:
    """Pair each conversion with its anchor, whose person's touches earn or lose it.

    That is itself; for a refund its order, whenever and by whom that was, if there is one.

    Args:
        conversions: one a conversion_id; the orders of refunds are among them.
        refunds: goal of a refund -> goal of the order it takes back.
    """
    conversions = list(conversions)
    orders: dict[tuple[str | None, str | None], Goal] = {
        (each.goal, each.order_id): each
        for each in conversions
        if each.order_id is not None and each.goal in refunds.values()
    }
    return [(each, orders.get((refunds.get(each.goal), each.order_id), each)) for each in conversions]


def to_row(goal: Goal, reporting_value: Decimal | None, touches: int, watermark: int) -> ConversionRow:
    """Complete a conversion to its row of gold.conversions.

    Args:
        goal: the one that counts.
        reporting_value: its value in the reporting currency.
        touches: how many are in the look-back.
        watermark: microseconds since 1970; a conversion no later is final.
    """
    is_final = goal.converted_at <= watermark
    return ConversionRow(
        *goal[:9],
        reporting_value,
        touches,
        is_final,
        None if is_final else goal.converted_at,
        goal.url,
        goal.referrer,
        goal.visit,
        goal.rules_version,
    )
