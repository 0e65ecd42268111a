"""Consents of visitors by spans: in any order of arrival, in copies, in batches, and against the oracle."""

import random

from hypothesis import given
from hypothesis import strategies as st

from folds.consent_rules import ConsentRules, Purposes
from folds.visitors.consents import (
    Consent,
    Statement,
    VisitorConsents,
    add_statements,
    find_consents,
    first_unknown,
)
from kit.oracle_consents import PURPOSES, ConsentChoices, consents_of, purposes_of
from kit.oracle_wire import Fields

_SAYS = st.sampled_from([None, None, True, False])


@st.composite
def consent_rules(draw: st.DrawFn) -> ConsentRules:
    defaults = {name: {"default": draw(st.sampled_from(["granted", "refused"]))} for name in PURPOSES}
    withdrawn = draw(st.sampled_from(["from_then_on", "all"]))
    return ConsentRules.model_validate({"withdrawn": withdrawn, "purposes": defaults})


@st.composite
def statements(draw: st.DrawFn) -> list[Statement]:
    """Up to 9 events of a visitor, in order of time; UIDs in another order, and some say nothing."""
    drawn = draw(st.lists(st.tuples(st.sampled_from([0, 0, 1, 5]), _SAYS, _SAYS, _SAYS), max_size=9))
    at, found = 1_000, []
    for uid, (step, *says) in zip(draw(st.permutations(range(len(drawn)))), drawn, strict=True):
        at += step
        found.append(Statement(at, f"e{uid}", *says))
    return found


def choices_of(rules: ConsentRules) -> ConsentChoices:
    refused = [name for name, granted in zip(PURPOSES, rules.defaults, strict=True) if not granted]
    return ConsentChoices(rules.withdraws_all, refused)


def as_events(said: list[Statement]) -> list[Fields]:
    return [
        {
            "visitor_id": "v",
            "event_time": each.at,
            "event_id": each.event_id,
            **{f"consent_{name}": getattr(each, name) for name in PURPOSES},
        }
        for each in said
    ]


def fold_batches(batches: list[list[Statement]], rules: ConsentRules) -> list[Consent]:
    """Spans as the repair job computes them: batch by batch, from known spans and later statements."""
    known: list[Consent] = []
    arrived: set[Statement] = set()
    for batch in batches:
        arrived |= set(batch)
        since = first_unknown(batch, known, rules)
        if since is not None:
            later = [each for each in arrived if each.at >= since]
            known = add_statements("v", later, known, rules, since)
    return known


@given(statements(), consent_rules(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_consents_are_the_same_in_any_order_and_batches(
    said: list[Statement], rules: ConsentRules, chance: random.Random, count: int
) -> None:
    arriving = [*said, *chance.choices(said, k=2)] if said else []
    chance.shuffle(arriving)
    batches = [arriving[number::count] for number in range(count)]
    assert fold_batches(batches, rules) == find_consents("v", said, rules)


@given(statements(), consent_rules())
def test_spans_match_oracle(said: list[Statement], rules: ConsentRules) -> None:
    found = [each._asdict() for each in find_consents("v", said, rules)]
    assert found == consents_of(as_events(said), choices_of(rules))


@given(statements(), consent_rules())
def test_purposes_of_events_match_oracle(said: list[Statement], rules: ConsentRules) -> None:
    consents = VisitorConsents(find_consents("v", said, rules)[::-1], rules.defaults)
    found = {each.event_id: consents.at(each.at, each.event_id)._asdict() for each in said}
    assert found == purposes_of(as_events(said), choices_of(rules))
    refused = any(not granted for purposes in found.values() for granted in purposes.values())
    assert not (refused and consents.grants_all)


@given(statements(), consent_rules(), st.randoms(use_true_random=False), st.integers(0, 9))
def test_changed_spans_cover_every_change(
    said: list[Statement], rules: ConsentRules, chance: random.Random, count: int
) -> None:
    """What publish restates: the new and changed rows of the table, never the deleted ones."""
    chance.shuffle(said)
    before, after = fold_batches([said[:count]], rules), fold_batches([said[:count], said[count:]], rules)
    old, new = (VisitorConsents(spans, rules.defaults) for spans in (before, after))
    for each in said:
        moment = (each.at, each.event_id)
        if old.at(*moment) != new.at(*moment):
            changed = [span for span in after if span not in before]
            assert any(
                (span.valid_from, span.event_id) <= moment
                and (span.valid_to is None or moment < (span.valid_to, str(span.to_event_id)))
                for span in changed
            )


def test_visitor_who_states_the_defaults_has_no_span() -> None:
    said = [Statement(1, "a", True, None, True), Statement(2, "b", None, None, None)]
    assert find_consents("v", said, ConsentRules()) == []
    assert first_unknown(said, [], ConsentRules()) is None


def test_withdrawal_holds_from_its_event_on() -> None:
    said = [Statement(5, "b", False, None, None), Statement(9, "c", True, None, None)]
    assert find_consents("v", said, ConsentRules()) == [
        Consent("v", 5, "b", 9, "c", False, True, True),
        Consent("v", 9, "c", None, None, True, True, True),
    ]


def test_withdrawal_of_all_takes_back_what_was_before_it() -> None:
    said = [Statement(5, "b", False, None, None), Statement(9, "c", True, None, None)]
    rules = ConsentRules(withdrawn="all")
    consents = VisitorConsents(find_consents("v", said, rules))
    granted = [consents.at(at, "x") for at in (0, 6, 10)]
    assert granted == [Purposes(False, True, True), Purposes(False, True, True), Purposes(True, True, True)]
