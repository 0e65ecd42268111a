"""Identities: who is behind a visitor, in whatever order events come."""

from hypothesis import given
from hypothesis import strategies as st

from folds.visitors.identities import Identity, identify_visitor

SAID = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=6)


def test_of_two_names_at_once_the_greater_uid_decides() -> None:
    known = identify_visitor("v", [(5, "b", "x"), (5, "a", "y")], None)
    assert identify_visitor("v", [(4, "d", "z")], known) == Identity("v", "x", 5, "b", ["x", "y", "z"])


def test_a_visitor_who_never_said_has_no_identity() -> None:
    assert identify_visitor("v", [], None) is None


@given(SAID, SAID)
def test_batches_and_their_order_do_not_matter(first: list, second: list) -> None:
    one = identify_visitor("v", second, identify_visitor("v", first, None))
    other = identify_visitor("v", first, identify_visitor("v", second, None))
    assert one == other == identify_visitor("v", first + second, None)
