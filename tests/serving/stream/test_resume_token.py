"""Resume tokens are read back as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from serving.stream.resume_token import from_token, to_token

names = st.sampled_from(sorted(TABLES))
identities = st.text("0123456789abcdef", max_size=8)


@given(st.dictionaries(names, st.tuples(st.integers(-1, 10**9), identities), min_size=1))
def test_a_token_is_read_back(tables: dict[str, tuple[int, str]]) -> None:
    position = {name: version for name, (version, _) in tables.items()}
    known = {name: identity for name, (_, identity) in tables.items()}
    assert from_token(to_token(position, known)) == (position, known)


@pytest.mark.parametrize("text", ["", "17", "gold.traffic", "gold.traffic:x:ab", "gold.traffic:1:ab,", "\n"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(MillraceError, match="position can't be read"):
        from_token(text)
