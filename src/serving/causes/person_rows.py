"""Finds the events that changed rows of a conversion: those of its person, and goals of its order."""

from collections.abc import Collection, Iterable, Sequence

from serving.causes.changed_row import ChangedRow
from serving.causes.input_events import InputEvent
from serving.causes.linked_visitors import Goal, Goals, Persons
from serving.causes.visitor_rows import EventsByVisitor

CONVERSION_TABLES = ("gold.conversions", "gold.attribution", "gold.trails")


class ConversionEvents:
    """Finds the events of the input that a conversion's rows depend on.

    The rows of a conversion are computed from the goals of its order, and from all events of their persons.
    Without these events in the input, the rows would be unchanged. Events after the last goal count only if
    they have a user id, or for some visitors.

    Args:
        goals: goals through the end of the input.
        persons: persons of the visitors with these goals.
        events: events of the input, by visitor.
        of_all_times: visitors of whom later events count: those who were classified as bots since the last
            commit, and those with several users.
    """

    def __init__(
        self, goals: Goals, persons: Persons, events: EventsByVisitor, of_all_times: Collection[str]
    ) -> None:
        self._of_all_times = of_all_times
        self._goals = goals
        self._persons = persons
        self._events = events
        self._found: dict[str, list[InputEvent]] = {}

    def find(self, change: ChangedRow) -> list[InputEvent]:
        """The events behind a change."""
        name = change.sides[-1]["conversion_id"]
        if name not in self._found:
            self._found[name] = self._of(self._goals.of_conversion(name))
        return self._found[name]

    def visitors(self, change: ChangedRow) -> frozenset[str]:
        """Visitors whose events the row depends on."""
        goals = self._goals.of_conversion(change.sides[-1]["conversion_id"])
        return self._persons.linked(goal.visitor_id for goal in goals)

    def _of(self, goals: Sequence[Goal]) -> list[InputEvent]:
        if not goals:
            return []
        visitors = self._persons.linked(goal.visitor_id for goal in goals)
        theirs = [event for visitor in sorted(visitors) for event in self._events.get(visitor, ())]
        last, own = max(goal.event_time for goal in goals), {goal.event_id for goal in goals}
        return events_until(last, own, theirs, self._of_all_times)


def events_until(
    last: int, goals: Collection[str], events: Iterable[InputEvent], of_all_times: Collection[str]
) -> list[InputEvent]:
    """The events of some persons that rows of their goals depend on.

    Args:
        last: time of the last goal, in microseconds.
        goals: UIDs of the goals.
        events: events of the persons.
        of_all_times: visitors of whom later events count as well.
    """
    return [
        event
        for event in events
        if event.event_time <= last
        or event.user_id
        or event.event_id in goals
        or event.visitor_id in of_all_times
    ]
