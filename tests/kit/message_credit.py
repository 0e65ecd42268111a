"""From Segment messages to sessions, touches and credit, by the folds alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from folds.persons.exchange_rates import ExchangeRates
from folds.persons.fold import PersonRows, PersonRules, fold_person
from folds.persons.records import Goal, PageView, Touch
from folds.persons.refunds import load_order_rules
from folds.rule_numbers import RuleNumbers
from folds.visitors.events import PAGE_VIEW, Event
from folds.visitors.fold import find_credit_inputs
from folds.visitors.minutes import VisitorMinute
from folds.visitors.rules import VisitorRules
from folds.visitors.sessions import Session
from kit.histories import fold_history
from kit.oracle_identities import persons_of
from kit.oracle_wire import DAY
from kit.parser import CHANNELS, CONF, outcome_of
from kit.records import record

ORDERS = load_order_rules(CONF)


@dataclass
class Credited:
    """Rows that follow from some messages; sessions and touches in order of time."""

    sessions: list[Session] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)
    minutes: list[VisitorMinute] = field(default_factory=list)
    persons: PersonRows = field(default_factory=lambda: PersonRows([], [], []))

    def credit(self, model: str) -> list[tuple[str, float]]:
        """Channel and credit of each touch, in order, of all conversions."""
        return [(row.channel, row.credit) for row in self.persons.attribution if row.model == model]


def parsed(message: Mapping[str, Any]) -> Event:
    """The event of a message that is accepted."""
    outcome = outcome_of(record(dict(message)))
    return Event(**{name: getattr(outcome, name) for name in Event._fields if hasattr(outcome, name)})


def credit_messages(messages: Iterable[Mapping[str, Any]], numbers: RuleNumbers | None = None) -> Credited:
    """Fold messages by visitor, then by person.

    Args:
        messages: in any order.
        numbers: if not the defaults.
    """
    numbers, messages = numbers or RuleNumbers(), list(messages)
    persons = _persons(messages)
    rules = VisitorRules.of(numbers, ORDERS.refunds, CHANNELS.own)
    by_visitor = defaultdict(list)
    for event in map(parsed, messages):
        by_visitor[event.visitor_id].append(event)
    found, goals, pages = Credited(), [], []
    touches: dict[str, list[Touch]] = defaultdict(list)
    for visitor, events in by_visitor.items():
        sessions = fold_history(visitor, events, rules, 10**18).sessions
        inputs = find_credit_inputs(visitor, events, sessions, rules)
        found.sessions += sessions
        for touch in inputs.touches:
            touches[persons[touch.event_id]].append(touch)
        found.minutes += inputs.minutes
        goals += [_goal(goal, persons[goal.event_id]) for goal in inputs.goals]
        pages += [_page(event) for event in events if event.role == PAGE_VIEW and event.is_in_session]
    found.sessions.sort(key=lambda row: row.started_at)
    every = (touch for theirs in touches.values() for touch in theirs)
    found.touches = sorted(every, key=lambda row: (row.touched_at, row.touch_id))
    person_rules = PersonRules.of(numbers, ExchangeRates((), "EUR"), ORDERS)
    rows = fold_person(goals, touches, pages, 400_000 * DAY, person_rules)
    found.persons = rows._replace(trails=list(rows.trails))
    return found


def _persons(messages: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    names = ("event_id", "visitor_id", "user_id", "event_time")
    outcomes = (outcome_of(record(dict(message))) for message in messages)
    return persons_of([{name: getattr(outcome, name) for name in names} for outcome in outcomes])


def _goal(goal: Any, person: str) -> Goal:
    fields = goal._asdict()
    return Goal(**{name: fields[name] for name in Goal._fields if name in fields}, person_id=person)


def _page(event: Event) -> PageView:
    return PageView(event.visitor_id, event.event_id, event.event_time, event.url, event.referrer)
