"""Versions of a row, against a table that keeps every state: any order of arrival, copies."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.shop.row_history import DELETE, INSERT, SNAPSHOT, TRUNCATE, UPDATE, Change, Version, versions_of
from kit.oracle_shop import KeptTable

KEYS = st.sampled_from(["1", "2", "3"])
PLANS = st.sampled_from(["free", "pro"])
NOTES = st.sampled_from(["a", "b"])
STATEMENTS = st.one_of(
    st.tuples(st.just("insert"), KEYS, PLANS, NOTES),
    st.tuples(st.just("update"), KEYS, PLANS, st.one_of(st.none(), NOTES)),
    st.tuples(st.just("delete"), KEYS),
    st.tuples(st.just("move"), KEYS, KEYS),
    st.tuples(st.just("truncate")),
)
STEPS = st.one_of(
    st.just("snapshot"), st.tuples(st.lists(STATEMENTS, max_size=4), st.integers(-1, 3), st.booleans())
)


def table_after(steps: list[Any]) -> KeptTable:
    table = KeptTable()
    table.commit([("insert", "1", "free", "a"), ("insert", "2", "pro", "b")], 1)
    table.log.clear()  # from before the capture
    table.snapshot()
    for step in steps:
        if step == "snapshot":
            table.snapshot()
        else:
            table.commit(*step)
    return table


def versions_by_key(table: KeptTable, arrived: list[int]) -> dict[str, list[Version]]:
    sent = [table.log[place] for place in arrived]
    of_all = [each.change for each in sent if each.key is None]
    return {
        key: versions_of([*of_all, *(each.change for each in sent if each.key == key)])
        for key in {each.key for each in sent if each.key}
    }


def as_of(versions: list[Version], at: int) -> Any:
    """The row at a time; None if it was not there."""
    rows = [
        each.row
        for each in versions
        if (each.valid_from is None or each.valid_from <= at)
        and (each.valid_to is None or at < each.valid_to)
    ]
    assert len(rows) <= 1
    return rows[0] if rows else None


def latest_states(table: KeptTable, key: str) -> dict[int, Any]:
    """By time, the last state of a row. No commit counts at a time before that of the row's last one."""
    commits = {each.change.lsn for each in table.log if each.key in (key, None)}
    found, clock = {}, 0
    for lsn, at, rows in table.states:
        if lsn in commits:
            clock = max(clock, at)
            found[clock] = rows.get(key)
    return found


@given(st.lists(STEPS, max_size=8), st.data())
def test_versions_give_every_state_in_any_order_of_arrival(steps: list[Any], data: st.DataObject) -> None:
    table = table_after(steps)
    places = list(range(len(table.log)))
    copies = data.draw(st.lists(st.sampled_from(places), max_size=5))
    versions = versions_by_key(table, data.draw(st.permutations(places + copies)))
    for key, found in versions.items():
        states = latest_states(table, key)
        assert {at: as_of(found, at) for at in states} == states
    assert versions.keys() >= {key for _, _, rows in table.states for key in rows}


@pytest.mark.parametrize("seconds", [-1, 0, 3])
def test_commit_counts_at_its_own_time_whatever_other_rows_had_before(seconds: int) -> None:
    table = table_after(
        [([("update", "1", "pro", "b")], 1, False), ([("insert", "3", "free", "a")], seconds, False)]
    )
    [version] = versions_by_key(table, list(range(len(table.log))))["3"]
    assert version.valid_from == 2 + seconds


@given(st.lists(STEPS, max_size=8))
def test_versions_are_states_that_a_commit_left(steps: list[Any]) -> None:
    table = table_after(steps)
    for key, found in versions_by_key(table, list(range(len(table.log)))).items():
        states = [(lsn, rows.get(key)) for lsn, _, rows in table.states]
        changed = [
            (lsn, row)
            for before, (lsn, row) in zip([(0, None), *states], states, strict=False)
            if row is not None and row != before[1]
        ]
        assert [(each.lsn, each.row) for each in found] == changed


def test_transaction_is_one_version() -> None:
    changes = [Change(7, 1, INSERT, 5, {"plan": "free"}), Change(7, 2, UPDATE, 5, {"plan": "pro"})]
    assert versions_of(changes) == [Version(7, 5, 5, None, {"plan": "pro"})]


def test_row_inserted_and_deleted_in_one_transaction_has_no_version() -> None:
    assert versions_of([Change(7, 1, INSERT, 5, {"plan": "free"}), Change(7, 2, DELETE, 5)]) == []


def test_start_of_a_row_of_the_first_snapshot_is_not_known() -> None:
    changes = [Change(7, 0, TRUNCATE, 5), Change(7, 1, SNAPSHOT, 5, {"plan": "free"})]
    assert versions_of(changes) == [Version(7, 5, None, None, {"plan": "free"})]


def test_row_that_only_a_later_snapshot_has_begins_with_that() -> None:
    changes = [Change(7, 0, TRUNCATE, 5), Change(9, 0, TRUNCATE, 6), Change(9, 1, SNAPSHOT, 6, {"plan": "a"})]
    assert versions_of(changes) == [Version(9, 6, 6, None, {"plan": "a"})]


def test_row_that_a_later_snapshot_lacks_ends_with_that() -> None:
    changes = [Change(7, 1, SNAPSHOT, 5, {"plan": "free"}), Change(9, 0, TRUNCATE, 6)]
    assert versions_of(changes) == [Version(7, 5, None, 6, {"plan": "free"})]


def test_unchanged_long_value_comes_from_the_version_before() -> None:
    changes = [Change(8, 1, UPDATE, 6, {"plan": "pro"}, ("note",)), Change(7, 1, INSERT, 5, {"note": "long"})]
    assert [each.row for each in versions_of(changes)] == [{"note": "long"}, {"plan": "pro", "note": "long"}]


def test_clock_set_back_does_not_turn_versions_around() -> None:
    changes = [Change(7, 1, INSERT, 5, {"plan": "a"}), Change(8, 1, UPDATE, 3, {"plan": "b"})]
    assert [(each.valid_from, each.valid_to) for each in versions_of(changes)] == [(5, 5), (5, None)]
