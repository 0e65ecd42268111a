"""Identities: who is behind a visitor, as far as it has been said."""

from collections.abc import Iterable
from typing import NamedTuple


class Identity(NamedTuple):
    """What a visitor's events say of the person.

    Args:
        visitor_id: who has said who they are.
        user_id: of the latest event that carries one, by time, then UID.
        identified_at: time of that event, in microseconds.
        event_id: its UID.
        user_ids: every user id, in order of text.
    """

    visitor_id: str
    user_id: str
    identified_at: int
    event_id: str
    user_ids: list[str]


def identify_visitor(
    visitor: str, said: Iterable[tuple[int, str, str]], known: Identity | None
) -> Identity | None:
    """Bring together what was known and what is new, in whatever order events come.

    Args:
        visitor: whose events they are.
        said: time, UID and user id of new events that carry one.
        known: what was known before.
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
