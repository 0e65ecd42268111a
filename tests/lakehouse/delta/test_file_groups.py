"""Lookups in groups of small files find the same rows as file by file, at every version."""

from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.contracts.table import Column, Table
from lakehouse.delta import file_groups, parquet_cache
from lakehouse.delta.file_groups import FILES_PER_GROUP, FileGroup, FileGroups
from lakehouse.delta.local_tables import LocalTables
from lakehouse.delta.lookup import Lookup
from lakehouse.rows.time_pruner import TimePruner

ROWS = Table(
    name="silver.rows",
    grain="number",
    summary="rows to look up",
    inputs=(),
    writer="test",
    key=("number",),
    columns=(
        Column("number", "bigint", "number"),
        Column("kind", "string", "kind"),
        Column("at", "timestamp", "time"),
        Column("is_late", "boolean", "flag"),
    ),
    event_time="at",
    partitioned_by=("is_late",),
)
KINDS = ("a", "b", None)
Row = tuple[Any, ...]

rows = st.tuples(st.integers(0, 9), st.sampled_from(KINDS), st.integers(0, 50), st.booleans())
steps = st.one_of(st.lists(rows, min_size=1, max_size=4), st.integers(0, 9))
"""Rows to append, or a number whose rows are deleted."""


@settings(max_examples=30, deadline=None)
@given(st.lists(steps, min_size=1, max_size=14))
def test_lookups_return_rows_of_each_version(
    tmp_path_factory: pytest.TempPathFactory, given_steps: list[list[Row] | int]
) -> None:
    tables = LocalTables(tmp_path_factory.mktemp("w"))
    tables.ensure(ROWS, {})
    folder = tables._folder(ROWS)
    versions: list[list[Row]] = [[]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_groups, "FILES_PER_GROUP", 2)
        for step in given_steps:
            if isinstance(step, int):
                before = DeltaTable(folder).version()
                DeltaTable(folder).delete(f"number = {step}")
                if DeltaTable(folder).version() > before:
                    versions.append([row for row in versions[-1] if row[0] != step])
            else:
                tables.append(ROWS, pa.table(list(map(list, zip(*step, strict=True))), ROWS.column_names), {})
                versions.append([*versions[-1], *step])
            for version in {None, len(versions) - 1, len(versions) // 2}:
                assert_lookups(tables, versions[-1 if version is None else version], version)


def assert_lookups(tables: LocalTables, expected: list[Row], version: int | None) -> None:
    """Compare lookups with a filter over the expected rows."""
    for (low, high), kind, flag in product(((0, 50), (10, 20)), (None, "a"), (None, "is_late")):
        near = TimePruner.of_spans([(low, high)])
        key = None if kind is None else ("kind", [kind])
        found = tables.find(ROWS, Lookup(ROWS.column_names, near, "at", key=key, flag=flag), version)
        wanted = [
            row
            for row in expected
            if low <= row[2] <= high and kind in (None, row[1]) and (row[3] or not flag)
        ]
        assert sorted(map(str, map(tuple, (each.values() for each in found.to_pylist())))) == sorted(
            map(str, wanted)
        )


def file(number: int, count: int = 10, **more: Any) -> dict[str, Any]:
    """A file as `files_of` lists it."""
    first = {"path": f"{number}", "modification_time": number, "num_records": count, "size_bytes": 1_000}
    return {**first, "min.at": number, "max.at": number + 5, **more}


def test_group_has_small_files_of_one_partition_only() -> None:
    groups = FileGroups()
    late = [file(number, **{"partition.is_late": True}) for number in range(20)]
    others = [file(100 + number, **{"partition.is_late": False}) for number in range(20)]
    large = [file(200, 25_000), file(201, size_bytes=2**22)]
    (one, other), _ = groups.form([*late, *others, *large])
    assert one.paths == tuple(f"{number}" for number in range(16))
    assert other.bounds["partition.is_late"] is False
    assert (one.bounds["num_records"], one.bounds["min.at"], one.bounds["max.at"]) == (160, 0, 20)
    assert len(groups.of_version([*late, *others, *large])) == 2 + 8 + 2


def test_bound_of_group_is_unknown_if_that_of_a_file_is() -> None:
    group = FileGroup.of([file(1), file(2, **{"max.at": None})])
    assert (group.bounds["min.at"], group.bounds["max.at"]) == (1, None)


def test_file_groups_are_stable_while_files_are_added() -> None:
    groups, files = FileGroups(), [file(number) for number in range(17)]
    (one,), _ = groups.form(files)
    for number in range(17, 40):
        files = [*files, file(number)]
        new, dissolved = groups.form(files)
        assert bool(new) == (number == 32)
        assert dissolved == []
        assert groups.of_version(files)[0] == one
    (again,), (dissolved,) = groups.form(files[1:])
    assert (dissolved, again.paths[0]) == (one, "1"), "a file has left the table"


def test_lookup_of_newest_rows_reads_only_newest_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, read = LocalTables(tmp_path), list[str]()
    original = parquet_cache.read_columns
    monkeypatch.setattr(
        parquet_cache, "read_columns", lambda path, schema: read.append(path) or original(path, schema)
    )
    tables.ensure(ROWS, {})
    for number in range(3 * FILES_PER_GROUP):
        tables.append(ROWS, pa.table([[number], ["a"], [number], [False]], ROWS.column_names), {})
        read.clear()
        newest = Lookup(ROWS.column_names, TimePruner.of_spans([(number, number)]), "at")
        assert tables.find(ROWS, newest)["number"].to_pylist() == [number]
        assert len({*read}) == 1
