"""Resume tokens round-trip, and are valid only for the subject that issued them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from serving.stream.resume_token import Subject

names = st.sampled_from(sorted(TABLES))
identities = st.text("0123456789abcdef", max_size=8)
SUBJECT = Subject("0123abcd", ("day",), {"gold.traffic": "ab"})


@given(st.dictionaries(names, st.tuples(st.integers(-1, 10**9), identities), min_size=1))
def test_resume_token_round_trips(tables: dict[str, tuple[int, str]]) -> None:
    position = {name: version for name, (version, _) in tables.items()}
    subject = Subject("0123abcd", (), {name: identity for name, (_, identity) in tables.items()})
    assert subject.position(subject.token(position)) == position


def test_resume_token_of_another_subject_has_no_position() -> None:
    token = SUBJECT.token({"gold.traffic": 3})
    assert SUBJECT.position(token) == {"gold.traffic": 3}
    assert replace(SUBJECT, digest="99999999").position(token) is None  # another query, condition or role
    assert replace(SUBJECT, identities={"gold.traffic": "cd"}).position(token) is None  # recreated
    assert replace(SUBJECT, identities={"gold.funnel": "ab"}).position(token) is None


@pytest.mark.parametrize(
    "text", ["", "17", "gold.traffic:1:ab", "0123abcd~", "0123abcd~gold.traffic:x:ab", "0123abcd~a.b:1:c,"]
)
def test_malformed_resume_token_is_rejected(text: str) -> None:
    with pytest.raises(MillraceError, match="position can't be read"):
        SUBJECT.position(text)
