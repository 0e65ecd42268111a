"""Affected conversions: those that a micro-batch may change."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from folds.persons.conversions import to_goal
from folds.persons.exchange_rates import Rate
from folds.persons.records import ConversionRow, Goal, Visit
from folds.persons.refunds import OrderRules
from gold.credit.area import Area
from gold.credit.bot_refunds import find_bot_refunds
from gold.credit.dimensions import Dimensions
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.contracts.table import DELETED
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.time_pruner import TimePruner

_VISIT = CONVERSIONS.column_names.index("visit")


@dataclass(frozen=True)
class AffectedConversions:
    """Conversions to recompute.

    Args:
        before: their published rows.
        goals: goals to recompute them from: goal events in the area, and published rows. All have a
            person_id, except refunds and cancellations of bots.
        bot_refunds: those of the goals that have to be added to gold.bot_refunds.
    """

    before: list[ConversionRow]
    goals: list[Goal]
    bot_refunds: list[Goal]


@dataclass(frozen=True)
class Changes:
    """Changes of a micro-batch that conversions depend on.

    Args:
        area: time spans of visitors that the micro-batch may change.
        goals: goal events in the area.
        bot_refunds: refunds and cancellations that bots sent in the micro-batch.
        touched: visitor_id -> times of touches that were inserted, changed or deleted.
        dimensions: the dimensions of the micro-batch.
        look_back: maximum time from a touch to a conversion that it earns credit for, in microseconds.
        orders: which goals reverse an order.
    """

    area: Area
    goals: Sequence[Goal]
    bot_refunds: Sequence[Goal]
    touched: dict[str, list[int]]
    dimensions: Dimensions
    look_back: int
    orders: OrderRules


def find_affected(lake: Lakehouse, changes: Changes) -> AffectedConversions:
    """Find the conversions that a micro-batch may change.

    A conversion is affected if its goal event is new, if its session, touches, person or exchange rate may
    have changed, if its visitor is a new bot, or if it shares an order with an affected conversion, as a
    refund does.

    Args:
        lake: the tables, with gold.conversions not updated yet.
        changes: the changes of the micro-batch.
    """
    dimensions = changes.dimensions
    visitors = {goal.visitor_id for goal in changes.goals} | changes.touched.keys()
    persons = dimensions.persons_of(visitors)
    found = {row.conversion_id: row for row in _directly_affected(lake, changes, persons)}
    rows: list[Goal | ConversionRow] = [*changes.goals, *changes.bot_refunds, *found.values()]
    orders = {row.order_id for row in rows if row.order_id is not None}
    found |= {row.conversion_id: row for row in _of_orders(lake, orders, found.keys())}
    people = [row for row in found.values() if row.visitor_id not in dimensions.bots]
    persons |= dimensions.persons_of({row.visitor_id for row in people} - persons.keys())
    goals = [*changes.goals, *map(to_goal, people)]
    named = [goal._replace(person_id=persons[goal.visitor_id]) for goal in goals]
    stored, new = _bot_refunds(lake, changes, orders, list(found.values()))
    return AffectedConversions(list(found.values()), [*named, *stored, *new], new)


def find_conversions(
    lake: Lakehouse, near: TimePruner | None = None, key: tuple[str, Collection[str]] | None = None
) -> list[ConversionRow]:
    """Published conversions by time and key; see `Lookup`."""
    wanted = Lookup(CONVERSIONS.column_names, near, "converted_at", key=key)
    return _rows(lake.find(CONVERSIONS.name, wanted))


def changed_conversions(changes: pa.Table) -> list[tuple[ConversionRow, bool]]:
    """Changes of gold.conversions on the driver, each with whether the row is deleted."""
    table = in_micros(changes)
    return list(zip(_rows(table), table[DELETED].to_pylist(), strict=True))


def _rows(table: pa.Table) -> list[ConversionRow]:
    columns = [table[name].to_pylist() for name in CONVERSIONS.column_names]
    columns[_VISIT] = [None if visit is None else Visit(**visit) for visit in columns[_VISIT]]
    return [ConversionRow(*row) for row in zip(*columns, strict=True)]


def _bot_refunds(
    lake: Lakehouse, changes: Changes, orders: Collection[str], found: Sequence[ConversionRow]
) -> tuple[list[Goal], list[Goal]]:
    """Refunds and cancellations of bots: those in gold.bot_refunds, and those to add to it."""
    bots = changes.dimensions.bots
    rows = [row for row in found if row.visitor_id in bots and row.order_id is not None]
    reversing = [row for row in rows if changes.orders.order_goal(row.goal)]
    nobody = (to_goal(row)._replace(person_id=None, visit=None, is_published=False) for row in reversing)
    stored = find_bot_refunds(lake, orders) if bots else []
    known = {goal.event_id for goal in stored}
    new = {goal.event_id: goal for goal in (*nobody, *changes.bot_refunds) if goal.event_id not in known}
    return stored, list(new.values())


def _directly_affected(lake: Lakehouse, changes: Changes, persons: dict[str, str]) -> list[ConversionRow]:
    area, dimensions = changes.area, changes.dimensions
    touched = _times_by_person(changes.touched, persons)
    near = find_conversions(lake, area.pruner, ("visitor_id", area.spans)) if area.spans else []
    found = [row for row in near if area.contains(row.visitor_id, row.converted_at)]
    if touched:
        spans = ((at, at + changes.look_back) for times in touched.values() for at in times)
        found += [
            row
            for row in find_conversions(lake, TimePruner.of_spans(spans), ("person_id", touched))
            if _is_led_to(row.converted_at, touched.get(row.person_id, ()), changes.look_back)
        ]
    if dimensions.renamed:
        ever = {user for users in dimensions.renamed.values() for user in users}
        found += find_conversions(lake, key=("visitor_id", dimensions.renamed))
        found += find_conversions(lake, key=("person_id", ever | dimensions.renamed.keys()))
    if dimensions.new_bots:
        found += find_conversions(lake, key=("visitor_id", dimensions.new_bots))
    if dimensions.new_rates:
        found += _rated_by(lake, dimensions.new_rates)
    return found


def _times_by_person(touched: dict[str, list[int]], persons: dict[str, str]) -> dict[str, list[int]]:
    times: dict[str, list[int]] = defaultdict(list)
    for visitor, theirs in touched.items():
        times[persons[visitor]] += theirs
    return {person: sorted(theirs) for person, theirs in times.items()}


def _is_led_to(converted_at: int, touched: Sequence[int], look_back: int) -> bool:
    """Whether one of the sorted times is in a conversion's look-back."""
    first = bisect_left(touched, converted_at - look_back)
    return first < len(touched) and touched[first] <= converted_at


def _of_orders(lake: Lakehouse, orders: Collection[str], known: Collection[str]) -> list[ConversionRow]:
    """Conversions that share an order, except the known ones.

    The lookup by order scans the whole table, so it reads only two columns. Rows are then read by id.
    """
    if not orders:
        return []
    columns = ("conversion_id", "converted_at")
    shared = lake.find(CONVERSIONS.name, Lookup(columns, key=("order_id", orders)))
    missing = {name: at for name, at in rows_of(shared, columns) if name not in known}
    if not missing:
        return []
    then = TimePruner.of_spans((at, at) for at in missing.values())
    return find_conversions(lake, then, ("conversion_id", missing))


def _rated_by(lake: Lakehouse, rates: Sequence[Rate]) -> list[ConversionRow]:
    """Conversions that one of the rates applies to."""
    columns = ("conversion_id", "converted_at", "currency")
    rows = lake.find(CONVERSIONS.name, Lookup(columns))
    valid = {
        conversion: at
        for conversion, at, currency in rows_of(rows.filter(rows["currency"].is_valid()), columns)
        if any(_is_valid(rate, currency.upper(), at) for rate in rates)
    }
    then = TimePruner.of_spans((at, at) for at in valid.values())
    return find_conversions(lake, then, ("conversion_id", valid))


def _is_valid(rate: Rate, currency: str, at: int) -> bool:
    return (
        rate.currency == currency and rate.valid_from <= at and (rate.valid_to is None or at < rate.valid_to)
    )
