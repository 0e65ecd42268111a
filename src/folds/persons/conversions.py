"""Conversions: counts each goal once, and finds the anchor that its touches come from."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from folds.persons.amounts import Amount, cancellation_amount, own_amount, refund_amounts
from folds.persons.exchange_rates import ExchangeRates
from folds.persons.records import ConversionRow, Goal, Touch
from folds.persons.refunds import OrderRules
from folds.visitors.custom_dimensions import of_person

_Order = tuple[str | None, str | None]
"""Goal and id of an order."""


def first_goals(goals: Iterable[Goal]) -> list[Goal]:
    """Keep the earliest goal of each conversion, by time, then UID.

    Args:
        goals: in any order. If a goal is present as an event and as a published row, the one with a visit is
            kept; if both have one, the event.

    Returns:
        One goal per conversion_id.
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
    """A conversion with its anchor. The touches of the anchor's person gain or lose the credit.

    Args:
        conversion: with its effective value and currency.
        anchor: the conversion itself; for a refund or cancellation its order, if known, of any time and
            person.
        amount: its value.
        is_counted: whether it counts as a conversion.
    """

    conversion: Goal
    anchor: Goal
    amount: Amount
    is_counted: bool


def anchor_conversions(goals: Iterable[Goal], orders: OrderRules, rates: ExchangeRates) -> list[Anchored]:
    """Compute the conversions of goals, each with its value and its anchor.

    A bot's goal is dropped, unless it reverses a person's order: then it counts for that person.

    Args:
        goals: in any order. If a goal belongs to an order, all goals of that order are included.
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
    """Orders of persons, without repeats."""
    kinds = orders.orders
    theirs = (each for each in goals if each.goal in kinds and each.order_id is not None)
    first = first_goals(each for each in theirs if each.person_id is not None)
    return {(each.goal, each.order_id): each for each in first}


def _order_of(goal: Goal, orders: OrderRules) -> _Order:
    return orders.order_goal(goal.goal), goal.order_id


def _with_persons(goals: Iterable[Goal], known: Mapping[_Order, Goal], orders: OrderRules) -> Iterator[Goal]:
    """Yield persons' goals, and bots' reversals of known orders with the person of the order."""
    for goal in goals:
        if goal.person_id is not None:
            yield goal
        elif order := known.get(_order_of(goal, orders)):
            yield goal._replace(person_id=order.person_id)


def _anchor_reversals(
    order: Goal | None, reversals: Sequence[Goal], orders: OrderRules, rates: ExchangeRates
) -> list[Anchored]:
    """Anchor the refunds and cancellations of one order, or of an unknown order."""
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


def to_row(
    anchored: Anchored, touches: Sequence[Touch], watermark: int, person_level: Set[str]
) -> ConversionRow:
    """Build the row of gold.conversions.

    Args:
        anchored: the conversion and its value.
        touches: those that share its credit, in order.
        watermark: microseconds since 1970; a conversion at or before it is final.
        person_level: custom dimensions of which the first touch's value counts.
    """
    goal, amount = anchored.conversion, anchored.amount
    is_final = goal.converted_at <= watermark
    return ConversionRow(
        *goal[:3],
        goal.person_id or "",
        *goal[4:7],
        amount.over_refunded,
        goal.converted_at,
        amount.value,
        amount.value_sent,
        amount.currency,
        amount.reporting_value,
        amount.rate_valid_from,
        amount.is_of_order,
        anchored.is_counted,
        len(touches),
        _channel(goal, touches),
        is_final,
        None if is_final else goal.converted_at,
        goal.url,
        goal.referrer,
        goal.visit,
        goal.rules_version,
        goal.has_analytics_consent,
        goal.has_attribution_consent,
        anchored.anchor.may_be_credited,
        _custom_dimensions(goal, touches, person_level),
    )


def _custom_dimensions(goal: Goal, touches: Sequence[Touch], person_level: Set[str]) -> str | None:
    if not person_level:
        return goal.custom_dimensions
    first = touches[0].custom_dimensions if touches else None
    return of_person(goal.custom_dimensions, first, person_level)


def _channel(goal: Goal, touches: Sequence[Touch]) -> str | None:
    """The channel that windows count a conversion under: of its visit, else of its last touch."""
    if goal.visit is not None:
        return goal.visit.channel
    return touches[-1].channel if touches else None


def to_goal(row: ConversionRow) -> Goal:
    """Convert a published row back to its goal, with the amount and the currency that were sent.

    A row of an earlier version has no `value_sent`: its value is as sent, unless it follows from the order.
    """
    fields = {name: getattr(row, name) for name in Goal._fields if name != "is_published"}
    if row.is_of_order:
        fields |= {"value": None, "currency": None}
    if row.value_sent is not None:
        fields["value"] = row.value_sent
    return Goal(**fields, is_published=True)
