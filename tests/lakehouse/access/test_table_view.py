"""A role's view of rows and changes, against a naive computation."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.access import policy, visible
from lakehouse.access.table_view import TableView
from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.delta.row_pairs import change_schema

TABLE = TABLES["gold.conversions"]
POLICY = """
roles:
  a:
    tables: [gold.conversions]
    mask: {visitor_id: hash, order_id: hide, currency: "null"}
    rows: {gold.conversions: {goal: [Order Completed, null], touches: {lt: 3}}}
"""
CONDITIONS = {"goal": ["Order Completed", None], "touches": {"lt": 3}}
NOTHING: dict[str, Any] = dict.fromkeys(TABLE.column_names)
Rows = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> TableView:
    found = policy(tmp_path_factory.mktemp("home"), POLICY).role("a").view(TABLE)
    assert found is not None
    return found


values = st.fixed_dictionaries(
    {
        "goal": st.sampled_from([None, "Order Completed", "Signed Up"]),
        "visitor_id": st.sampled_from([None, "v", "w"]),
        "order_id": st.sampled_from([None, "o1", "o2"]),
        "currency": st.sampled_from(["EUR", "USD"]),
        "touches": st.sampled_from([None, 1, 2, 3]),
    }
)
states = st.dictionaries(st.sampled_from(["c1", "c2", "c3", "c4"]), values)


def as_rows(state: Rows) -> list[dict[str, Any]]:
    return [{**NOTHING, "conversion_id": id_, **row} for id_, row in state.items()]


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, arrow_schema(TABLE))


def multiset(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(map(repr, rows))


@given(state=states)
def test_rows_are_filtered_before_they_are_masked(view: TableView, state: Rows) -> None:
    shown = view.apply(as_table(as_rows(state)))
    kept = [row for row in as_rows(state) if visible(row, CONDITIONS)]
    assert shown.num_rows == len(kept)
    assert "order_id" not in shown.column_names
    assert [column.name for column in view.columns] == shown.column_names
    assert set(shown["currency"].to_pylist()) <= {None}
    assert shown["goal"].to_pylist() == [row["goal"] for row in kept]
    assert [each is None for each in shown["visitor_id"].to_pylist()] == [
        row["visitor_id"] is None for row in kept
    ]
    assert not set(shown["visitor_id"].to_pylist()) & {"v", "w"}


@given(before=states, after=states)
def test_changes_of_view_fold_to_rows_of_view(view: TableView, before: Rows, after: Rows) -> None:
    changes = view.apply_changes(feed(before, after)).to_pylist()
    state = multiset(view.apply(as_table(as_rows(before))).to_pylist())
    kinds = {(True, True): "update", (False, True): "insert", (True, False): "delete"}
    for change in changes:
        old, new = change["before"], change["after"]
        assert change["change"] == kinds[old is not None, new is not None]
        assert old != new
        assert (change["commit_version"], change["job"]) == (7, "publish")
        if old is not None:
            assert state[repr(old)] > 0
            state[repr(old)] -= 1
        if new is not None:
            state[repr(new)] += 1
    assert +state == multiset(view.apply(as_table(as_rows(after))).to_pylist())


def feed(before: Rows, after: Rows) -> pa.Table:
    old = {row["conversion_id"]: row for row in as_rows(before)}
    new = {row["conversion_id"]: row for row in as_rows(after)}
    changes = [
        {
            "change": "update" if id_ in old and id_ in new else "insert" if id_ in new else "delete",
            "commit_version": 7,
            "job": "publish",
            "before": old.get(id_),
            "after": new.get(id_),
        }
        for id_ in sorted({*old, *new})
        if old.get(id_) != new.get(id_)
    ]
    return pa.Table.from_pylist(changes, change_schema(TABLE))


ORDER = {"goal": "Order Completed", "visitor_id": "v", "order_id": "o1", "currency": "EUR", "touches": 1}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, {}, ["insert"]),
        ({}, None, ["delete"]),
        ({}, {"touches": 2}, ["update"]),
        ({"touches": 3}, {}, ["insert"]),
        ({}, {"touches": 3}, ["delete"]),
        ({"touches": 3}, {"touches": 4}, []),
        (None, {"goal": "Signed Up"}, []),
        ({}, {"order_id": "o2"}, []),
        ({}, {"currency": "USD"}, []),
        ({}, {"visitor_id": "w"}, ["update"]),
    ],
)
def test_change_is_insert_update_or_delete_in_view_of_role(
    view: TableView, before: dict[str, Any] | None, after: dict[str, Any] | None, expected: list[str]
) -> None:
    states_ = ({} if each is None else {"c": {**ORDER, **each}} for each in (before, after))
    assert view.apply_changes(feed(*states_))["change"].to_pylist() == expected


def test_changes_omit_hidden_columns(view: TableView) -> None:
    found = view.apply_changes(feed({}, {"c": ORDER}))
    assert [field.name for field in found.schema.field("after").type] == [each.name for each in view.columns]
    assert "o1" not in repr(found.to_pylist())


def test_rows_without_filter_column_are_rejected(view: TableView) -> None:
    with pytest.raises(KeyError):
        view.apply(as_table(as_rows({"c": ORDER})).select(["conversion_id", "visitor_id"]))


def test_row_filter_uses_unmasked_values(tmp_path: Path) -> None:
    text = POLICY.replace("touches: {lt: 3}", "visitor_id: [v]")
    found = policy(tmp_path, text).role("a").view(TABLE)
    assert found is not None
    shown = found.apply(as_table(as_rows({"c1": ORDER, "c2": {**ORDER, "visitor_id": "w"}})))
    assert shown.num_rows == 1
    assert shown["visitor_id"].to_pylist() not in (["v"], [None])
