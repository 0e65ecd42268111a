"""Identities: whose the events of a visitor are, by spans of the visitor's time.

A visitor's events fall into stretches, split where the session gap or more lies between two. In a stretch an
event belongs to the user id of the latest event up to it that carries one, else to that of the first event
after it. A stretch without user ids belongs to whom the one before ended with, else to whom the next one with
a user id begins with. Events are ordered by time, then UID.

A span is a run of events of one user. From the start of a stretch on, spans depend on earlier events only
through the user that the stretch before ended with. So new events change spans from the start of the first
stretch that they belong to.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple


class IdentityEvent(NamedTuple):
    """An event of a visitor.

    Args:
        at: event time, in microseconds.
        event_id: its UID.
        user_id: the user id that it carries; None without one.
    """

    at: int
    event_id: str
    user_id: str | None


class Identity(NamedTuple):
    """A span of a visitor's events, and whose they are; times in microseconds.

    Args:
        visitor_id: the visitor.
        user_id: whose the events are.
        valid_from: time of the first event; None in the visitor's first span.
        valid_to: time of the first event of the next span; None in the last span.
        from_event_id: UID of the first event; decides between events at `valid_from`.
        to_event_id: UID of the first event of the next span; decides between events at `valid_to`.
        identified_at: time of the first event that carries the user id.
        event_id: UID of that event.
    """

    visitor_id: str
    user_id: str
    valid_from: int | None
    valid_to: int | None
    from_event_id: str | None
    to_event_id: str | None
    identified_at: int
    event_id: str


def find_identities(visitor: str, events: Iterable[IdentityEvent], gap: int) -> list[Identity]:
    """Compute the spans of a visitor from all events; none without a user id."""
    return _joined(visitor, _runs(_stretches(sorted(events), gap), None), ())


def add_logins(
    visitor: str, events: Iterable[IdentityEvent], known: Sequence[Identity]
) -> list[Identity] | None:
    """Compute the spans of a visitor from new events and known spans, if the visitor has one user.

    Args:
        visitor: the visitor.
        events: new events, some of which may be in the known spans already.
        known: the spans so far.

    Returns:
        No span or one; None if there are several users, so that earlier events matter.
    """
    logins = [(each.at, each.event_id, each.user_id) for each in events if each.user_id is not None]
    logins += [(each.identified_at, each.event_id, each.user_id) for each in known]
    users = {user for _, _, user in logins}
    if len(users) > 1:
        return None
    return [Identity(visitor, user, None, None, None, None, *min(logins)[:2]) for user in users]


def add_events(
    visitor: str,
    events: Iterable[IdentityEvent],
    known: Sequence[Identity],
    gap: int,
    since: int | None,
    new: int,
) -> list[Identity] | None:
    """Compute the spans of a visitor again from a time on.

    Args:
        visitor: the visitor.
        events: all events from `since` on, the new ones included.
        known: the spans of the events before the new ones, in any order.
        gap: the session gap.
        since: a time; None if the events are all that the visitor has.
        new: time of the first new event.

    Returns:
        All spans; None if no stretch is known to start between `since` and the first new event.
    """
    stretches = list(_stretches(sorted(events), gap))
    starts = [each for each, stretch in enumerate(stretches) if stretch[0].at <= new]
    if since is not None and starts and stretches[0][0].at - since < gap:
        starts = starts[1:]  # the first stretch may have started before
    if not starts:
        return None
    later = stretches[starts[0] :]
    in_order = sorted(known, key=lambda each: (each.identified_at, each.event_id))
    before = [each for each in in_order if (each.identified_at, each.event_id) < later[0][0][:2]]
    return _joined(visitor, _runs(later, before[-1].user_id if before else None), before)


def _stretches(events: Sequence[IdentityEvent], gap: int) -> Iterator[Sequence[IdentityEvent]]:
    """Split events, in order, where the session gap or more lies between two."""
    starts = [
        place for place, (one, other) in enumerate(pairwise(events), start=1) if other.at - one.at >= gap
    ]
    for low, high in pairwise([0, *starts, len(events)]):
        if low < high:
            yield events[low:high]


def _runs(
    stretches: Iterable[Sequence[IdentityEvent]], user: str | None
) -> Iterator[tuple[str | None, Sequence[IdentityEvent]]]:
    """The events of stretches as runs of one user; the user is None before the first user id.

    Args:
        stretches: in order.
        user: whom the stretch before ended with; None if no one was known.
    """
    owned = []
    for stretch in stretches:
        user = next((each.user_id for each in stretch if each.user_id is not None), user)
        for each in stretch:
            user = user if each.user_id is None else each.user_id
            owned.append((user, each))
    for owner, run in groupby(owned, key=lambda pair: pair[0]):
        yield owner, [each for _, each in run]


def _joined(
    visitor: str, runs: Iterable[tuple[str | None, Sequence[IdentityEvent]]], before: Sequence[Identity]
) -> list[Identity]:
    """Spans that are known, and then one for each run; a run of the same user continues the span before."""
    found = list(before)
    for user, run in runs:
        if user is None or (found and found[-1].user_id == user):
            continue  # events before the first user id are in the first span
        first = run[0][:2]
        login = next(each for each in run if each.user_id is not None)
        if found:
            found[-1] = found[-1]._replace(valid_to=first[0], to_event_id=first[1])
        start = (first[0], first[1]) if found else (None, None)
        found.append(Identity(visitor, user, start[0], None, start[1], None, login.at, login.event_id))
    if found:
        found[-1] = found[-1]._replace(valid_to=None, to_event_id=None)
    return found
