"""Differences of two results of a query."""

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lakehouse.rows.row_json import key_json, row_json
from serving.processes.result import Result
from serving.sources.query_result import Part
from serving.sources.row_changes import ChangeGroup, KeyedRow, RowChange, conflate, result_changes

rows = st.lists(
    st.fixed_dictionaries(
        {"k": st.integers(0, 3) | st.none(), "v": st.sampled_from([None, 0.5, 1, [1], {"a": 2}])}
    )
)
keys = st.sampled_from([None, ("k",), ("k", "v")])


def keyed(rows: list[dict[str, Any]], key: tuple[str, ...] | None) -> list[KeyedRow]:
    return [(key_json(row, key) if key else row_json(row), row_json(row)) for row in rows]


def stored(rows: list[dict[str, Any]], key: tuple[str, ...] | None) -> Result:
    """A result in parts of two rows."""
    pairs = keyed(rows, key)
    parts = [pairs[start : start + 2] for start in range(0, len(pairs), 2)]
    return Result(
        Part(b"\n".join(row for _, row in part), b"\n".join(each for each, _ in part) if key else None)
        for part in parts
    )


def changes(before: list[dict[str, Any]], after: list[dict[str, Any]], key: Any) -> list[RowChange]:
    return result_changes(keyed(before, key), keyed(after, key))[0]


def assert_fold(before: list[KeyedRow], changes: Any, after: list[KeyedRow]) -> None:
    state = Counter(row for _, row in before)
    for change in changes:
        state.subtract([change.before] if change.before else [])
        state.update([change.after] if change.after else [])
    assert min(state.values(), default=0) >= 0
    assert +state == Counter(row for _, row in after)


@given(rows, rows, keys)
def test_changes_turn_one_result_into_the_next(before: Any, after: Any, key: Any) -> None:
    assert_fold(keyed(before, key), changes(before, after, key), keyed(after, key))


@given(rows, rows, rows, keys)
def test_conflated_groups_turn_the_first_result_into_the_last(
    first: Any, second: Any, third: Any, key: Any
) -> None:
    """This includes rows that share a key in some of the results."""
    results = [keyed(each, key) for each in (first, second, third)]
    found = [result_changes(before, after) for before, after in pairwise(results)]
    groups = [ChangeGroup(changes, {}, has_key=has_key) for changes, has_key in found]
    assert_fold(results[0], conflate(groups).rows, results[-1])


@given(rows, rows, keys)
def test_stored_results_have_the_same_changes(before: Any, after: Any, key: Any) -> None:
    found, has_key = stored(before, key).changes_to(stored(after, key))
    expected, expected_key = result_changes(keyed(before, key), keyed(after, key))
    assert (sorted(map(str, found)), has_key) == (sorted(map(str, expected)), expected_key)


@given(rows, keys)
def test_equal_results_have_no_changes(before: Any, key: Any) -> None:
    assert changes(before, before[::-1], key) == []


def test_changed_row_with_known_key_is_an_update() -> None:
    (change,) = changes([{"k": 1, "v": 2}], [{"k": 1, "v": 3}], ("k",))
    assert change.kind == "update"
    assert change == (b"[1]", b'{"k":1,"v":2}', b'{"k":1,"v":3}', None)


def test_duplicate_rows_without_key_are_inserted_and_deleted_by_count() -> None:
    row = {"k": 1}
    assert [change.kind for change in changes([row, row], [row], None)] == ["delete"]
    assert [change.kind for change in changes([row], [row, row], None)] == ["insert"]


def test_rows_with_duplicate_keys_are_compared_as_whole_rows() -> None:
    before = [{"k": 1, "v": 1}, {"k": 1, "v": 2}]
    assert [change.kind for change in changes(before, before[:1], ("k",))] == ["delete"]
