"""Differences of two results of a query."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from serving.json_lines import json_text
from serving.result_changes import result_changes

rows = st.lists(
    st.fixed_dictionaries(
        {"k": st.integers(0, 3) | st.none(), "v": st.sampled_from([None, 0.5, 1, [1], {"a": 2}])}
    )
)


@given(rows, rows, st.sampled_from([None, (0,), (0, 1)]))
def test_changes_turn_one_result_into_the_next(before: Any, after: Any, key: Any) -> None:
    state = Counter(map(json_text, before))
    for change in result_changes(before, after, key):
        if change.before is not None:
            state[json_text(change.before)] -= 1
        if change.after is not None:
            state[json_text(change.after)] += 1
    assert min(state.values(), default=0) >= 0
    assert +state == Counter(map(json_text, after))


@given(rows, st.sampled_from([None, (0,)]))
def test_equal_results_have_no_changes(before: Any, key: Any) -> None:
    assert result_changes(before, before[::-1], key) == []


def test_row_with_a_known_key_is_updated() -> None:
    (change,) = result_changes([{"k": 1, "v": 2}], [{"k": 1, "v": 3}], (0,))
    assert change == ("update", {"k": 1, "v": 2}, {"k": 1, "v": 3})


def test_rows_without_a_key_come_and_go_as_often_as_they_are_there() -> None:
    row = {"k": 1}
    assert [change.change for change in result_changes([row, row], [row], None)] == ["delete"]
    assert [change.change for change in result_changes([row], [row, row], None)] == ["insert"]


def test_rows_that_share_a_key_are_compared_as_a_whole() -> None:
    before = [{"k": 1, "v": 1}, {"k": 1, "v": 2}]
    assert [change.change for change in result_changes(before, before[:1], (0,))] == ["delete"]
