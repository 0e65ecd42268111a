"""Identities of visitors by spans: in any order of arrival, in copies, in batches, and against the oracle."""

import random

from hypothesis import given
from hypothesis import strategies as st

from folds.visitors.identities import Identity, IdentityEvent, add_events, add_logins, find_identities
from kit.oracle_identities import identities_of

MINUTE = 60_000_000
GAP = 30 * MINUTE
LOOK_BACKS = st.sampled_from([0, GAP, 4 * GAP])
_STEPS = (0, 0, 1, 10 * MINUTE, GAP - 1, GAP, GAP + 1, 3 * GAP, 20 * GAP)


@st.composite
def identity_events(draw: st.DrawFn) -> list[IdentityEvent]:
    """Up to 12 events of a visitor, in order of time; UIDs in another order."""
    drawn = draw(
        st.lists(
            st.tuples(st.sampled_from(_STEPS), st.sampled_from([None, None, None, "x", "y", "z"])),
            max_size=12,
        )
    )
    at, found = 1_000 * GAP, []
    for uid, (step, user) in zip(draw(st.permutations(range(len(drawn)))), drawn, strict=True):
        at += step
        found.append(IdentityEvent(at, f"e{uid:02}", user))
    return found


def fold_batches(batches: list[list[IdentityEvent]], look_back: int) -> list[Identity]:
    """Spans as the repair job computes them: batch by batch, from known spans, here the latest first."""
    known: list[Identity] = []
    arrived: set[IdentityEvent] = set()
    for batch in batches:
        arrived |= set(batch)
        if not batch:
            continue
        found = add_logins("v", batch, known)
        new = min(each.at for each in batch)
        for since in (new - look_back, None):
            if found is None:
                around = [each for each in arrived if since is None or each.at >= since]
                found = add_events("v", around, known[::-1], GAP, since, new)
        assert found is not None
        known = found
    return known


@given(
    identity_events(),
    st.randoms(use_true_random=False),
    st.integers(1, 5),
    LOOK_BACKS,
)
def test_identities_are_the_same_in_any_order_and_batches(
    events: list[IdentityEvent], chance: random.Random, count: int, look_back: int
) -> None:
    arriving = [*events, *chance.choices(events, k=2)] if events else []
    chance.shuffle(arriving)
    batches = [arriving[number::count] for number in range(count)]
    assert fold_batches(batches, look_back) == find_identities("v", events, GAP)


@given(identity_events(), st.integers(1, 6), LOOK_BACKS)
def test_identities_of_events_in_order_of_time_are_the_same(
    events: list[IdentityEvent], size: int, look_back: int
) -> None:
    batches = [events[low : low + size] for low in range(0, len(events), size)]
    assert fold_batches(batches, look_back) == find_identities("v", events, GAP)


@given(identity_events())
def test_identities_match_oracle(events: list[IdentityEvent]) -> None:
    rows = [
        {"visitor_id": "v", "event_time": each.at, "event_id": each.event_id, "user_id": each.user_id}
        for each in events
    ]
    found = {row.event_id: row._asdict() for row in find_identities("v", events, GAP)}
    assert found == {row["event_id"]: row for row in identities_of(rows)}


def test_visitor_without_user_id_has_no_identity() -> None:
    assert find_identities("v", [IdentityEvent(1, "a", None)], GAP) == []
    assert add_logins("v", [IdentityEvent(1, "a", None)], []) == []


def test_visitor_of_one_user_has_one_span_without_bounds() -> None:
    known = add_logins("v", [IdentityEvent(5, "b", "x"), IdentityEvent(4, "c", None)], [])
    assert known == [Identity("v", "x", None, None, None, None, 5, "b")]
    assert add_logins("v", [IdentityEvent(5, "a", "x")], known) == [
        Identity("v", "x", None, None, None, None, 5, "a")
    ]


def test_second_user_needs_the_events_around() -> None:
    known = [Identity("v", "x", None, None, None, None, 5, "b")]
    assert add_logins("v", [IdentityEvent(9, "c", "y")], known) is None


def test_stretch_that_may_have_begun_before_the_events_is_not_used() -> None:
    events = [IdentityEvent(GAP, "a", "y"), IdentityEvent(GAP + 1, "b", None)]
    known = [Identity("v", "x", None, None, None, None, 0, "z")]
    assert add_events("v", events, known, GAP, since=1, new=GAP) is None
    spans = add_events("v", events, known, GAP, since=0, new=GAP)
    assert spans is not None
    assert [(each.user_id, each.valid_from) for each in spans] == [("x", None), ("y", GAP)]


def test_span_begins_with_its_stretch_and_else_with_its_login() -> None:
    events = [
        IdentityEvent(0, "a", "x"),
        IdentityEvent(GAP, "b", None),
        IdentityEvent(GAP + 1, "c", "y"),
        IdentityEvent(GAP + 2, "d", None),
        IdentityEvent(GAP + 2, "e", "x"),
    ]
    spans = find_identities("v", events, GAP)
    assert [(each.user_id, each.valid_from, each.from_event_id, each.event_id) for each in spans] == [
        ("x", None, None, "a"),
        ("y", GAP, "b", "c"),
        ("x", GAP + 2, "e", "e"),
    ]
