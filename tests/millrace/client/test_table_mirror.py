import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.user_database import UserDatabase
from lakehouse.errors import MillraceError
from millrace.client import Change, Cursor, Group, TableMirror

Rows = list[dict[str, Any]]

_TYPES = {"day": "TEXT", "step": "TEXT", "visitors": "BIGINT", "price": "NUMERIC(18, 4)", "tags": "TEXT"}
_PROPERTY_TEST = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _group(changes: list[Change], key: tuple[str, ...], *, reset: bool = False) -> Group:
    return Group(reset, key, changes, "p", {})  # type: ignore[arg-type]


def _table(database: UserDatabase, columns: tuple[str, ...] = tuple(_TYPES), more: str = "") -> str:
    name = f"t{uuid4().hex}"
    database.run(
        f"CREATE TABLE {name} ({', '.join(f'{column} {_TYPES[column]}' for column in columns)}{more})"
    )
    return name


def _apply(database: UserDatabase, mirror: TableMirror, group: Group) -> None:
    connection = database.connect()
    try:
        with database.store.transaction(connection) as cursor:
            mirror(cursor, group)
    finally:
        connection.close()


def _multiset(rows: Rows, columns: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in columns) for row in rows)


_text = st.one_of(
    st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)
)
_row = st.fixed_dictionaries(
    {
        "day": st.one_of(st.none(), st.sampled_from("ab")),
        "step": _text,
        "visitors": st.integers(-(2**63), 2**63 - 1),
    }
)
_columns = ("day", "step", "visitors")


@_PROPERTY_TEST
@given(states=st.lists(st.lists(_row, max_size=6), min_size=1, max_size=4))
def test_mirror_without_key_keeps_number_of_equal_rows(database: UserDatabase, states: list[Rows]) -> None:
    name = _table(database, _columns)
    mirror = TableMirror(name)
    _apply(database, mirror, _group([Change("insert", None, row) for row in states[0]], (), reset=True))
    for old, new in itertools.pairwise(states):
        changes = [Change("delete", row, None) for row in old] + [Change("insert", None, row) for row in new]
        _apply(database, mirror, _group(changes[::-1], ()))
    found = [dict(zip(_columns, row, strict=True)) for row in database.run(f"SELECT * FROM {name}")]
    assert _multiset(found, _columns) == _multiset(states[-1], _columns)


@_PROPERTY_TEST
@given(
    states=st.lists(
        st.dictionaries(st.tuples(st.sampled_from([None, "a", "b"]), _text), st.integers(0, 9), max_size=6),
        min_size=1,
        max_size=4,
    )
)
def test_mirror_with_key_follows_changes(database: UserDatabase, states: list[dict[Any, int]]) -> None:
    name = _table(database, _columns)
    mirror = TableMirror(name)

    def row(state: dict[Any, int], key: Any) -> dict[str, Any] | None:
        return {"day": key[0], "step": key[1], "visitors": state[key]} if key in state else None

    rows = [Change("insert", None, row(states[0], key)) for key in states[0]]
    _apply(database, mirror, _group(rows, ("day", "step"), reset=True))
    for old, new in itertools.pairwise(states):
        pairs = [(row(old, key), row(new, key)) for key in {**old, **new}]
        changes = [Change("any", before, after) for before, after in pairs if before != after]
        _apply(database, mirror, _group(changes, ("day", "step")))
    found = {(day, step): visitors for day, step, visitors in database.run(f"SELECT * FROM {name}")}
    assert found == states[-1]


def test_reset_replaces_all_rows(database: UserDatabase) -> None:
    name = _table(database, ("step", "visitors"))
    database.run(f"INSERT INTO {name} VALUES ('old', 1)")
    group = _group([Change("insert", None, {"step": "new", "visitors": 2})], ("step",), reset=True)
    _apply(database, TableMirror(name), group)
    assert database.run(f"SELECT * FROM {name}") == [("new", 2)]


def test_unique_values_may_move_between_rows(database: UserDatabase) -> None:
    name = _table(database, ("step", "visitors"), ", UNIQUE (visitors)")
    database.run(f"INSERT INTO {name} VALUES ('a', 1), ('b', 2)")
    moved = [
        Change("update", {"step": "a", "visitors": 1}, {"step": "a", "visitors": 2}),
        Change("update", {"step": "b", "visitors": 2}, {"step": "b", "visitors": 1}),
    ]
    _apply(database, TableMirror(name), _group(moved, ("step",)))
    assert sorted(database.run(f"SELECT * FROM {name}")) == [("a", 2), ("b", 1)]


def test_mirror_keeps_named_columns_and_nested_ones_as_json(database: UserDatabase) -> None:
    name = _table(database, ("step", "tags"))
    row = {"step": "a", "tags": ["x", {"y": 1}], "visitors": 7}
    mirror = TableMirror(name, columns=["step", "tags"])
    _apply(database, mirror, _group([Change("insert", None, row)], ("step",), reset=True))
    assert database.run(f"SELECT * FROM {name}") == [("a", '["x", {"y": 1}]')]


def test_table_and_column_names_are_quoted(database: UserDatabase) -> None:
    name, column = f't"{uuid4().hex}', 'sum(a) % "2"'
    quoted = '"' + name.replace('"', '""') + '"', '"sum(a) % ""2"""'
    connection = database.connect()
    connection.cursor().execute(f"CREATE TABLE {quoted[0]} ({quoted[1]} BIGINT)")
    connection.close()
    mirror = TableMirror(name)
    _apply(database, mirror, _group([Change("insert", None, {column: 3})], (), reset=True))
    _apply(database, mirror, _group([Change("update", {column: 3}, {column: 4})], ()))
    assert database.run(f"SELECT * FROM {quoted[0]}") == [(4,)]


@pytest.mark.parametrize("key", [("step",), ()], ids=["by key", "as a whole"])
def test_change_of_missing_row_is_rejected(database: UserDatabase, key: tuple[str, ...]) -> None:
    """Another program changed the table, and it would silently stay different."""
    name = _table(database, ("step", "visitors"))
    database.run(f"INSERT INTO {name} VALUES ('a', 1)")
    gone = [Change("delete", {"step": step, "visitors": 1}, None) for step in "ab"]
    with pytest.raises(MillraceError, match="restart"):
        _apply(database, TableMirror(name), _group(gone, key))
    assert database.run(f"SELECT * FROM {name}") == [("a", 1)]


def test_large_groups_are_applied_completely(database: UserDatabase) -> None:
    name = _table(database, ("step", "visitors"))
    rows = [{"step": f"s{number}", "visitors": number if number % 3 else None} for number in range(2_500)]
    inserts = [Change("insert", None, row) for row in rows]
    _apply(database, TableMirror(name), _group(inserts, ("step",), reset=True))
    deletes = [Change("delete", row, None) for row in rows[::2]]
    _apply(database, TableMirror(name), _group(deletes, ("step",)))
    found = database.run(f"SELECT step, visitors FROM {name}")
    assert sorted(found) == sorted((row["step"], row["visitors"]) for row in rows[1::2])


class _RecordingCursor:
    """Records statements, and the number of rows of each; all have changed."""

    rowcount = 0

    def __init__(self) -> None:
        self.statements: list[tuple[str, int]] = []

    def executemany(self, query: str, values: Sequence[object]) -> None:
        self.statements.append((query, len(values)))
        self.rowcount = len(values)


def _recorded(mirror: TableMirror, group: Group) -> list[tuple[str, int]]:
    recording = _RecordingCursor()
    cursor: Cursor = recording  # type: ignore[assignment]
    mirror(cursor, group)
    return recording.statements


def test_unknown_cursor_gets_placeholders_of_postgres() -> None:
    group = _group([Change("delete", {"step": "a"}, None)], ("step",))
    assert _recorded(TableMirror("shop.t"), group) == [('DELETE FROM "shop"."t" WHERE "step" = %s', 1)]


def test_rows_are_written_in_batches_of_a_thousand() -> None:
    changes = [Change("insert", None, {"step": f"s{number}"}) for number in range(2_500)]
    statements = _recorded(TableMirror("t"), _group(changes, ("step",)))
    assert [rows for _, rows in statements] == [1_000, 1_000, 500]
