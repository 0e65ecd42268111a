"""Simulates publish: each batch folds its goals with the published conversions of their orders."""

from collections.abc import Callable, Iterable, Sequence

from folds.persons.conversions import to_goal
from folds.persons.fold import PersonRows
from folds.persons.records import ConversionRow, Goal


def publish_batches(
    batches: Iterable[Sequence[Goal]], fold: Callable[[list[Goal]], PersonRows]
) -> list[ConversionRow]:
    """The published conversions after all batches.

    Args:
        batches: goals. Goals without a person belong to bots, and are kept for later batches.
        fold: the fold over persons.
    """
    there: dict[str, ConversionRow] = {}
    of_bots: list[Goal] = []
    for goals in batches:
        orders = {goal.order_id or goal.conversion_id for goal in goals}
        of_bots += [goal for goal in goals if goal.person_id is None]
        same = [row for row in there.values() if (row.order_id or row.conversion_id) in orders]
        bots = {goal.visitor_id for goal in of_bots}
        known = [to_goal(row) for row in same if row.visitor_id not in bots]
        persons = [goal for goal in goals if goal.person_id is not None]
        rows = fold([*persons, *known, *of_bots])
        there = {name: row for name, row in there.items() if row not in same}
        there |= {row.conversion_id: row for row in rows.conversions}
    return list(there.values())
