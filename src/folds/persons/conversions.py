"""Conversions: goals reached, each counted once, and whose touches earn them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from folds.persons.amounts import Amount, cancellation_amount, own_amount, refund_amounts
from folds.persons.exchange_rates import ExchangeRates
from folds.persons.records import ConversionRow, Goal
from folds.persons.refunds import OrderRules

_Order = tuple[str | None, str | None]
"""Goal and id of an order."""


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


class Anchored(NamedTuple):
    """A conversion with its anchor, whose person's touches earn or lose it.

    Args:
        conversion: with the value and currency that count.
        anchor: itself; for a refund or cancellation its order, if there is one, whenever and whosever it was.
        amount: what the conversion is worth.
        is_counted: whether it counts as a conversion.
    """

    conversion: Goal
    anchor: Goal
    amount: Amount
    is_counted: bool


def anchor_conversions(goals: Iterable[Goal], orders: OrderRules, rates: ExchangeRates) -> list[Anchored]:
    """Find the conversions that some goals are, what each is worth, and its anchor.

    A bot's goal is left out, unless it reverses a person's order: then it counts for that person.

    Args:
        goals: in any order, with all those of every order that one of them is of.
        orders: which goals reverse an order.
        rates: of all currencies.
    """
    goals = list(goals)
    known = _orders_of(goals, orders)
    conversions = first_goals(_with_persons(goals, known, orders))
    reversals: dict[_Order, list[Goal]] = defaultdict(list)
    found = []
    for each in conversions:
        if orders.is_counted(each.goal):
            found.append(Anchored(each, each, own_amount(each, rates), True))
        else:
            reversals[_order_of(each, orders)].append(each)
    for key, theirs in reversals.items():
        found += _anchor_reversals(known.get(key), theirs, orders, rates)
    return found


def _orders_of(goals: Iterable[Goal], orders: OrderRules) -> dict[_Order, Goal]:
    """Orders of persons, each once."""
    kinds = orders.orders
    theirs = (each for each in goals if each.goal in kinds and each.order_id is not None)
    first = first_goals(each for each in theirs if each.person_id is not None)
    return {(each.goal, each.order_id): each for each in first}


def _order_of(goal: Goal, orders: OrderRules) -> _Order:
    return orders.order_goal(goal.goal), goal.order_id


def _with_persons(goals: Iterable[Goal], known: Mapping[_Order, Goal], orders: OrderRules) -> Iterator[Goal]:
    """Persons' goals, and those of bots that reverse a known order, as of the order's person."""
    for goal in goals:
        if goal.person_id is not None:
            yield goal
        elif order := known.get(_order_of(goal, orders)):
            yield goal._replace(person_id=order.person_id)


def _anchor_reversals(
    order: Goal | None, reversals: Sequence[Goal], orders: OrderRules, rates: ExchangeRates
) -> list[Anchored]:
    """Refunds and cancellations of one order, or of none that is known."""
    refunds = sorted((each for each in reversals if each.goal in orders.refunds), key=_when)
    amounts = list(zip(refunds, refund_amounts(order, refunds, rates), strict=True))
    cancelled = (each for each in reversals if each.goal not in orders.refunds)
    amounts += [(each, cancellation_amount(order, refunds, rates)) for each in cancelled]
    return [
        Anchored(each._replace(value=amount.value, currency=amount.currency), order or each, amount, False)
        for each, amount in amounts
    ]


def _when(goal: Goal) -> tuple[int, str]:
    return goal.converted_at, goal.event_id


def to_row(anchored: Anchored, touches: int, watermark: int) -> ConversionRow:
    """Complete a conversion to its row of gold.conversions.

    Args:
        anchored: the conversion, and what it is worth.
        touches: how many are in the look-back.
        watermark: microseconds since 1970; a conversion no later is final.
    """
    goal, amount = anchored.conversion, anchored.amount
    is_final = goal.converted_at <= watermark
    named = (*goal[:3], goal.person_id or "", *goal[4:10])
    return ConversionRow(
        *named,
        amount.reporting_value,
        amount.over_refunded,
        amount.is_of_order,
        anchored.is_counted,
        touches,
        is_final,
        None if is_final else goal.converted_at,
        goal.url,
        goal.referrer,
        goal.visit,
        goal.rules_version,
    )


def to_goal(row: ConversionRow) -> Goal:
    """The goal that a published row is of: a value that follows from the order is not the event's own."""
    fields = {name: getattr(row, name) for name in Goal._fields if name != "is_published"}
    if row.is_of_order:
        fields |= {"value": None, "currency": None}
    return Goal(**fields, is_published=True)
