"""Identities of visitors from identify events, in any order of arrival."""

from hypothesis import given
from hypothesis import strategies as st

from folds.visitors.identities import Identity, identify_visitor

IDENTIFY_EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=6
)


def test_simultaneous_identify_events_use_greater_uid() -> None:
    known = identify_visitor("v", [(5, "b", "x"), (5, "a", "y")], None)
    assert identify_visitor("v", [(4, "d", "z")], known) == Identity("v", "x", 5, "b", ["x", "y", "z"])


def test_visitor_without_identify_event_has_no_identity() -> None:
    assert identify_visitor("v", [], None) is None


@given(IDENTIFY_EVENTS, IDENTIFY_EVENTS)
def test_identity_is_independent_of_batch_order(first: list, second: list) -> None:
    one = identify_visitor("v", second, identify_visitor("v", first, None))
    other = identify_visitor("v", first, identify_visitor("v", second, None))
    assert one == other == identify_visitor("v", first + second, None)
