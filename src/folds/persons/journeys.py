"""Journeys: the touches that share a conversion's credit."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from folds.persons.records import Goal, Touch
from folds.persons.view_through import view_touches

_BY_TIME = attrgetter("touched_at", "touch_id")


class Journey(NamedTuple):
    """A conversion and the touches that led to it.

    Args:
        conversion: the conversion to credit.
        anchor: the conversion itself, or the order that it reverses. The touches are of the anchor's person.
        touches: by time, then id; the first has position 1.
        steps: the touches, without view-through, and clicks that earn no credit.
    """

    conversion: Goal
    anchor: Goal
    touches: Sequence[Touch]
    steps: Sequence[Touch]


class PersonTouches:
    """A person's touches, sorted and looked up by time.

    Args:
        touches: of one person, in any order.
    """

    __slots__ = ("_times", "_touches")

    def __init__(self, touches: Iterable[Touch]) -> None:
        self._touches = sorted(touches, key=_BY_TIME)
        self._times = [touch.touched_at for touch in self._touches]

    def within(self, low: int, high: int) -> list[Touch]:
        """Touches between two times in microseconds, both included."""
        return self._touches[bisect_left(self._times, low) : bisect_right(self._times, high)]


def _with_consent(anchor: Goal, touches: Sequence[Touch]) -> list[Touch]:
    """The touches with consent to attribution; none if the anchor has none."""
    return [each for each in touches if anchor.may_be_credited and each.has_attribution_consent is not False]


def build_journeys(
    anchored: Iterable[tuple[Goal, Goal]],
    touches: Mapping[str, Iterable[Touch]],
    look_back: int,
    views_earn: bool,
) -> list[Journey]:
    """Find the touches and steps in the look-back before each conversion.

    Args:
        anchored: conversions, each with its anchor.
        touches: by person_id, in any order; persons without touches may be missing.
        look_back: microseconds before the anchor, included.
        views_earn: whether view-through impressions are touches.
    """
    ordered: dict[str, PersonTouches] = {}
    journeys = []
    for conversion, anchor in anchored:
        person, at = str(anchor.person_id), anchor.converted_at
        if person not in ordered:
            ordered[person] = PersonTouches(touches.get(person, ()))
        steps = _with_consent(anchor, ordered[person].within(at - look_back, at))
        earning = [touch for touch in steps if touch.earns_credit is not False]
        if views_earn and (views := view_touches(earning, at - look_back)):
            earning = sorted([*earning, *views], key=_BY_TIME)
        journeys.append(Journey(conversion, anchor, earning, steps))
    return journeys
