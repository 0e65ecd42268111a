"""Generated statements of consent, and the choices of conf/consent.yml that they are read by."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from folds.consent_rules import ConsentRules
from folds.visitors.consents import Statement, VisitorConsents, find_consents
from kit.oracle_consents import PURPOSES, ConsentChoices
from kit.oracle_wire import Fields
from kit.scenarios import Sent

ALL, NONE = (
    {"categoryPreferences": dict.fromkeys(("analytics", "attribution"), each)} for each in (True, False)
)
UNCREDITED, UNCOUNTED = ({"categoryPreferences": {each: "denied"}} for each in ("attribution", "Analytics"))
"""Values of `context.consent`."""

_SENT: Sequence[Any] = (
    *[None] * 5,
    *(ALL, NONE, UNCREDITED, UNCOUNTED, {"analytics_storage": "granted"}, "odd"),
)
_NOTHING = (None, None, None)
STATEMENTS = st.lists(
    st.sampled_from(
        [
            *[_NOTHING] * 5,
            *((False, False, False), (True, True, True), (True, None, None), (None, True, None)),
            *((False, None, None), (None, False, None), (True, False, None), (False, True, True)),
        ]
    ),
    min_size=14,
    max_size=14,
)
"""What each event states of each purpose, by place."""

CONSENT_CHOICES = st.builds(
    ConsentChoices, st.booleans(), st.sampled_from([(), (), ("attribution",), ("analytics", "ads")])
)


def with_statements(events: Iterable[Fields], stated: Sequence[Sequence[bool | None]]) -> None:
    """Add what each event states to the events."""
    for event, says in zip(events, stated, strict=False):
        event.update(zip((f"consent_{name}" for name in PURPOSES), says, strict=True))


def rules_of(choices: ConsentChoices) -> ConsentRules:
    """The rules of conf/consent.yml for some choices."""
    withdrawn = "all" if choices.withdraws_all else "from_then_on"
    defaults = {name: {"default": "refused"} for name in choices.refused}
    return ConsentRules.model_validate({"withdrawn": withdrawn, "purposes": defaults})


def consents_of(visitor: str, events: Iterable[Fields], choices: ConsentChoices) -> VisitorConsents:
    """The consents of a visitor, by the fold."""
    rules = rules_of(choices)
    names = ("event_time", "event_id", *(f"consent_{name}" for name in PURPOSES))
    statements = (Statement(*(event.get(name) for name in names)) for event in events)
    return VisitorConsents(find_consents(visitor, statements, rules), rules.defaults)


def stating(sent: Iterable[Sent], seed: int) -> list[Sent]:
    """Records of events, of which some state something. Copies of an event state the same."""
    chance, said = Random(seed), dict[str, Any]()

    def with_consent(each: Sent) -> Sent:
        body = json.loads(each.record.value or b"")
        body["context"]["consent"] = said.setdefault(body["messageId"], chance.choice(_SENT))
        return Sent(replace(each.record, value=json.dumps(body).encode()), each.commit)

    return [with_consent(each) for each in sent]
