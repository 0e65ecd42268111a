"""Copy-on-write merges without Spark: the rows of a naive merge, with few files replaced."""

import random
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.flat_table import FLAT, MINUTE, NAMES, START, Row, batches, rows_of
from kit.records import NOON
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.silver import SESSIONS
from lakehouse.contracts.table import DELETED
from lakehouse.delta import copy_on_write
from lakehouse.delta.local_tables import LocalTables
from lakehouse.delta.log_files import VersionTakenError
from lakehouse.delta.log_writer import commit
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.rows.arrow_times import in_micros


@settings(max_examples=100, deadline=None)
@given(batches, st.integers(1, 5))
def test_merge_gives_same_rows_as_naive_merge(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[Row, Row]], most: int
) -> None:
    tables, kept = LocalTables(tmp_path_factory.mktemp("w")), dict[Row, Row]()
    tables.ensure(FLAT, {"delta.checkpointInterval": "3"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copy_on_write, "MAX_ROWS_PER_SMALL_FILE", most)
        for number, batch in enumerate(changes):
            tables.merge(FLAT, rows_of(batch), Scope(), {"number": number})
            kept |= batch
            kept = {key: row for key, row in kept.items() if not row[3]}
            found = tables.find(FLAT, Lookup(NAMES)).to_pylist()
            assert sorted(map(str, found)) == sorted(map(str, rows_of(kept).select(NAMES).to_pylist()))
    folder = tables._folder(FLAT)
    again = in_micros(DeltaTable(folder).to_pyarrow_table()).select(NAMES).to_pylist()
    assert sorted(map(str, again)) == sorted(map(str, rows_of(kept).select(NAMES).to_pylist()))


def write_ten_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalTables:
    """Write ten files of ten rows, one file per minute."""
    monkeypatch.setattr(copy_on_write, "MAX_ROWS_PER_SMALL_FILE", 10)
    tables = LocalTables(tmp_path)
    tables.ensure(FLAT, {})
    for minute in range(10):
        batch = {("a", 10 * minute + place): (minute, 0, False, False) for place in range(10)}
        tables.merge(FLAT, rows_of(batch), Scope(), {})
    return tables


def files(tables: LocalTables) -> dict[str, tuple[int, int, int]]:
    """Path -> number of rows, first and last minute."""
    return {
        file["path"]: (
            file["num_records"],
            (file["min.at"] - START) // MINUTE,
            (file["max.at"] - START) // MINUTE,
        )
        for file in tables._files(FLAT, None)
    }


def test_only_files_with_matching_rows_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = write_ten_files(tmp_path, monkeypatch)
    before = files(tables)
    assert sorted(before.values()) == [(10, minute, minute) for minute in range(10)]
    changes = {
        ("a", 35): (3, 7, False, False),
        ("a", 71): (7, 0, False, True),
        ("b", 0): (12, 1, False, False),
    }
    tables.merge(FLAT, rows_of(changes), Scope(), {})
    after = files(tables)
    assert len(after.keys() & before.keys()) == 8
    new = sorted(after[path] for path in after.keys() - before.keys())
    assert new == [(1, 12, 12), (9, 7, 7), (10, 3, 3)]


def test_new_rows_are_added_to_replaced_small_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = write_ten_files(tmp_path, monkeypatch)
    for number in range(4):  # a row is added, and the one before it changed
        changes = {("b", number): (20, 0, True, False), ("b", number - 1): (20, 1, True, False)}
        tables.merge(FLAT, rows_of(changes), Scope(flag="is_open"), {})
    assert sorted(files(tables).values())[0:1] == [(5, 20, 20)]
    assert len(files(tables)) == 11


def test_rows_merged_into_large_file_are_one_chunk_in_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = write_ten_files(tmp_path, monkeypatch)
    for number in range(1, 4):
        tables.merge(FLAT, rows_of({("a", 0): (0, number, False, False)}), Scope(), {})
    (merged,) = (rows for rows in tables._cache._files.values() if 3 in rows["value"].to_pylist())
    assert {column.num_chunks for column in merged.values()} == {1}


def test_merge_does_not_match_rows_outside_scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = write_ten_files(tmp_path, monkeypatch)
    of_two_minutes = {("b", number): (20 + number, 0, False, False) for number in range(2)}
    tables.merge(FLAT, rows_of(of_two_minutes), Scope(), {})
    before = files(tables)
    changes = {("a", 5): (0, 1, False, False), ("b", 1): (21, 1, False, False)}
    tables.merge(FLAT, rows_of(changes), Scope(time="at", low=START + MINUTE, high=START + 20 * MINUTE), {})
    tables.merge(FLAT, rows_of(changes), Scope(time="day", low=date(2026, 1, 2), high=date(2026, 1, 2)), {})
    assert before.items() < files(tables).items()


def test_commit_of_existing_version_fails(tmp_path: Path) -> None:
    tables = LocalTables(tmp_path)
    tables.ensure(FLAT, {})
    commit(tables._folder(FLAT), 1, [], "MERGE", {"job": "one"})
    with pytest.raises(VersionTakenError):
        commit(tables._folder(FLAT), 1, [], "MERGE", {"job": "two"})
    assert [file.name for file in (tables._folder(FLAT) / "_delta_log").iterdir() if "tmp" in file.name] == []
    assert DeltaTable(tables._folder(FLAT)).history()[0]["userMetadata"] == '{"job": "one"}'


def test_checkpoints_are_written_at_configured_interval(tmp_path: Path) -> None:
    tables = LocalTables(tmp_path)
    tables.ensure(FLAT, {"delta.checkpointInterval": "4"})
    for number in range(9):
        tables.merge(FLAT, rows_of({("a", number): (0, 0, False, False)}), Scope(), {})
    log = tables._folder(FLAT) / "_delta_log"
    assert sorted(int(file.name[:20]) for file in log.glob("*.checkpoint.parquet")) == [3, 7]


def test_data_skipping_finds_rows_of_any_age(tmp_path: Path) -> None:
    chance = random.Random(5)
    tables = LocalTables(tmp_path)
    tables.ensure(SESSIONS, {})
    schema = in_micros(arrow_schema(SESSIONS).empty_table()).schema.append(pa.field(DELETED, pa.bool_()))
    times = [
        START + chance.choice([0, -(10**15), -(6 * 10**16)]) + chance.randrange(5_000) for _ in range(40)
    ]
    for number, at in enumerate(times):
        row = {"session_id": str(number), "started_at": at, "ended_at": at, "is_open": True, DELETED: False}
        tables.merge(SESSIONS, pa.Table.from_pylist([row], schema), Scope(), {})
    for number, at in enumerate(times):
        row = {
            "session_id": str(number),
            "started_at": at,
            "ended_at": at + 1,
            "is_open": False,
            DELETED: False,
        }
        scope = Scope(time="started_at", low=at, high=at)
        tables.merge(SESSIONS, pa.Table.from_pylist([row], schema), scope, {})
    assert tables.find(SESSIONS, Lookup(("session_id",))).num_rows == len(times)
    low = NOON + timedelta(microseconds=min(times) - START)
    found = DeltaTable(tables._folder(SESSIONS)).to_pyarrow_table(filters=[("started_at", "=", low)])
    assert found.num_rows == times.count(min(times))
