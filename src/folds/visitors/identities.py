"""Identities: the user ids of a visitor."""

from collections.abc import Iterable
from typing import NamedTuple


class Identity(NamedTuple):
    """The user ids in a visitor's events.

    Args:
        visitor_id: the visitor.
        user_id: of the latest event with a user id, by time, then UID.
        identified_at: time of that event, in microseconds.
        event_id: its UID.
        user_ids: all user ids, sorted.
    """

    visitor_id: str
    user_id: str
    identified_at: int
    event_id: str
    user_ids: list[str]


def identify_visitor(
    visitor: str, said: Iterable[tuple[int, str, str]], known: Identity | None
) -> Identity | None:
    """Merge new events into a visitor's identity; the order of events does not matter.

    Args:
        visitor: the visitor of the events.
        said: time, UID and user id of new events with a user id.
        known: the identity so far; None if there is none.
    """
    events = list(said)
    ever = {user for _, _, user in events}
    if known is not None:
        events.append((known.identified_at, known.event_id, known.user_id))
        ever.update(known.user_ids)
    if not events:
        return None
    at, event_id, user_id = max(events)
    return Identity(visitor, user_id, at, event_id, sorted(ever))
