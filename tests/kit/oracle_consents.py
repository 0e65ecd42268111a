"""Test oracle for consent: looks up each event's purposes among all statements of its visitor."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kit.oracle_wire import Fields, text

PURPOSES = ("analytics", "attribution", "ads")
_START = (-11_676_096_000_000_000, "")
_PATHS = {
    "analytics": (
        *("categoryPreferences.analytics", "categoryPreferences.Analytics", "analytics", "analytics_storage"),
    ),
    "attribution": ("categoryPreferences.attribution", "categoryPreferences.Attribution", "attribution"),
    "ads": (
        *("categoryPreferences.ads", "categoryPreferences.Advertising", "categoryPreferences.advertising"),
        *("ads", "ad_storage"),
    ),
}
_YES = ("true", "granted", "accepted", "yes", "1")
_NO = ("false", "denied", "refused", "rejected", "no", "0")


@dataclass(frozen=True)
class ConsentChoices:
    """Choices of conf/consent.yml."""

    withdraws_all: bool = False
    refused: Sequence[str] = ()
    """Purposes that are refused by default."""


BY_DEFAULT = ConsentChoices()


def stated(consent: object) -> Fields:
    """What `context.consent` states, as columns of silver.events."""
    found: Fields = {}
    for purpose, paths in _PATHS.items():
        answers = [_answer(consent, path.split(".")) for path in paths]
        known = [answer for answer in answers if answer is not None]
        found[f"consent_{purpose}"] = known[0] if known else None
    return found


def _answer(consent: object, path: Sequence[str]) -> bool | None:
    if path:
        return _answer(consent.get(path[0]), path[1:]) if isinstance(consent, dict) else None
    value = (text(consent) or "").strip().lower()
    return True if value in _YES else False if value in _NO else None


def purposes_of(events: Iterable[Fields], choices: ConsentChoices) -> dict[str, dict[str, bool]]:
    """What was granted at each event, by UID."""
    found = {}
    for theirs in by_visitor(events).values():
        for event in theirs:
            found[event["event_id"]] = {
                purpose: _is_granted(purpose, when(event), theirs, choices) for purpose in PURPOSES
            }
    return found


def consents_of(events: Iterable[Fields], choices: ConsentChoices) -> list[Fields]:
    """silver.consents."""
    rows = []
    for visitor, theirs in by_visitor(events).items():
        by_default = {purpose: purpose not in choices.refused for purpose in PURPOSES}
        said = ConsentChoices(refused=choices.refused)
        has_said = any(each != by_default for each in purposes_of(theirs, said).values())
        known: Fields | None = None if choices.withdraws_all and has_said else by_default
        mine: list[Fields] = []
        for moment in [_START, *sorted(map(when, theirs))]:
            now = {purpose: _is_granted(purpose, moment, theirs, choices) for purpose in PURPOSES}
            if now != known:
                for before in mine[-1:]:
                    before.update(valid_to=moment[0], to_event_id=moment[1])
                start = {"valid_from": moment[0], "event_id": moment[1]}
                end = {"valid_to": None, "to_event_id": None}
                mine.append({"visitor_id": visitor, **start, **end, **now})
                known = now
        rows += mine
    return rows


def _is_granted(
    purpose: str, moment: tuple[int, str], events: Sequence[Fields], choices: ConsentChoices
) -> bool:
    statements = {when(event): event.get(f"consent_{purpose}") for event in events}
    statements = {at: value for at, value in statements.items() if value is not None}
    if choices.withdraws_all and any(not value for at, value in statements.items() if at > moment):
        return False
    before = [at for at in statements if at <= moment]
    return statements[max(before)] if before else purpose not in choices.refused


def by_visitor(events: Iterable[Fields]) -> dict[str, list[Fields]]:
    """Events by visitor."""
    found: dict[str, list[Fields]] = defaultdict(list)
    for event in events:
        found[event["visitor_id"]].append(event)
    return found


def when(event: Fields) -> tuple[int, str]:
    """The order of events."""
    return event["event_time"], event["event_id"]
