"""Finds visitors whose rows depend on each other: those of one person, and those with a common order."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import NamedTuple

from folds.visitors.goals import conversion_id, refund_conversion_id
from lakehouse.readers.row_conditions import IsIn, NotNull, TimeWithin
from serving.causes.table_rows import TableRows

_EVENTS = "silver.events"
_IDENTITIES = "silver.identities"
_CONSENTS = "silver.consents"
_PAIR = ("visitor_id", "user_id")


class Goal(NamedTuple):
    """A goal event."""

    visitor_id: str
    goal: str
    order_id: str | None
    refund_id: str | None
    event_id: str
    event_time: int
    currency: str | None
    is_server_event: bool | None = None


class Goals:
    """All goal events by conversion, order and visitor, read incrementally from silver.events.

    Args:
        rows: reader of the tables.
        refunds: goals that an order may have several times.
    """

    def __init__(self, rows: TableRows, refunds: Collection[str]) -> None:
        self._rows = rows
        self._refunds = refunds
        self._read_through = 0
        self._by_conversion: dict[str, list[Goal]] = defaultdict(list)
        self._by_order: dict[str, list[Goal]] = defaultdict(list)
        self._by_visitor: dict[str, list[Goal]] = defaultdict(list)

    def refresh(self, upto: int) -> None:
        """Read new goals through an ingest stamp."""
        if upto <= self._read_through:
            return
        new = TimeWithin("ingested_at", [(self._read_through, upto)])
        for row in self._rows.find(_EVENTS, Goal._fields, new, NotNull("goal")):
            goal = Goal(*row)
            self._by_conversion[self._conversion(goal)].append(goal)
            self._by_visitor[goal.visitor_id].append(goal)
            if goal.order_id is not None:
                self._by_order[goal.order_id].append(goal)
        self._read_through = upto

    def of_conversion(self, name: str) -> list[Goal]:
        """The goals of a conversion, and all goals of its order."""
        return self.with_orders(self._by_conversion.get(name, ()))

    def of_visitor(self, visitor: str) -> list[Goal]:
        """A visitor's goals, and all goals of their orders."""
        return self.with_orders(self._by_visitor.get(visitor, ()))

    def with_orders(self, goals: Iterable[Goal]) -> list[Goal]:
        """Goals, and all that share an order with them."""
        found = {goal.event_id: goal for goal in goals}
        for order in {goal.order_id for goal in found.values()} - {None}:
            found |= {goal.event_id: goal for goal in self._by_order[str(order)]}
        return list(found.values())

    def _conversion(self, goal: Goal) -> str:
        if goal.goal in self._refunds:
            return refund_conversion_id(goal.goal, goal.order_id, goal.refund_id, goal.event_id)
        return conversion_id(goal.goal, goal.order_id, goal.event_id)


class Persons:
    """Visitors by person, from silver.identities.

    A visitor's earlier users are among the users of its spans, since no user id is ever removed.

    Args:
        rows: reader of the tables.
        visitors: visitors for whom `linked` will be called.
        identified: visitors whose person may have changed with the input.
    """

    def __init__(self, rows: TableRows, visitors: Collection[str], identified: Collection[str]) -> None:
        asked = {*visitors, *identified}
        self._users: dict[str, set[str]] = defaultdict(set)
        for visitor, user in rows.find(_IDENTITIES, _PAIR, IsIn("visitor_id", asked)):
            self._users[visitor].add(user)
        self._visitors: dict[str, set[str]] = defaultdict(set)
        persons = asked | {user for users in self._users.values() for user in users}
        for visitor, user in rows.find(_IDENTITIES, _PAIR, IsIn("user_id", persons)):
            self._visitors[user].add(visitor)

    def linked(self, visitors: Iterable[str]) -> frozenset[str]:
        """Visitors who share a person with one of these, now or before the input."""
        visitors = set(visitors)
        persons = visitors | {user for visitor in visitors for user in self._users.get(visitor, ())}
        return frozenset(persons.union(*(self._visitors.get(person, ()) for person in persons)))


def shared_visitors(rows: TableRows, visitors: Collection[str]) -> frozenset[str]:
    """Those of some visitors whose events may change what others are.

    Either they have several users, and each event may change whose others are; or they have stated something
    else than the defaults of consent, and each statement may change what others may be used for.
    """
    theirs = NotNull("valid_from"), IsIn("visitor_id", visitors)
    spans = (rows.find(table, ("visitor_id",), *theirs) for table in (_IDENTITIES, _CONSENTS))
    return frozenset(visitor for found in spans for (visitor,) in found)
