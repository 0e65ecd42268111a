"""Custom dimensions of conversions: of the goal event, its session's first event, and the first touch."""

from collections.abc import Set
from functools import lru_cache

import msgspec

NO_VALUES = "{}"


@lru_cache(4096)
def of_goal(own: str | None, of_session: str | None, session_level: Set[str]) -> str | None:
    """The values of a conversion, as a JSON object in order of names; None without any.

    Args:
        own: those of the goal event.
        of_session: those of the session's first event, `NO_VALUES` if it has none; None without a session.
        session_level: dimensions of which the session's value counts, if there is a session.
    """
    values = _read(own)
    if of_session is not None:
        inherited = _read(of_session)
        values = {name: value for name, value in values.items() if name not in session_level}
        values = inherited | values
    return msgspec.json.encode(values, order="sorted").decode() if values else None


@lru_cache(4096)
def of_person(own: str | None, of_touch: str | None, person_level: Set[str]) -> str | None:
    """The values of a conversion, with those of the first touch for dimensions of level `person`.

    Args:
        own: those of the conversion.
        of_touch: those of the first of its touches; None without any.
        person_level: dimensions of which the first touch's value counts.
    """
    values = {name: value for name, value in _read(own).items() if name not in person_level}
    first = {name: value for name, value in _read(of_touch).items() if name in person_level}
    values |= first
    return msgspec.json.encode(values, order="sorted").decode() if values else None


def _read(text: str | None) -> dict[str, str]:
    return msgspec.json.decode(text, type=dict[str, str]) if text else {}
