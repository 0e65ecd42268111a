"""The change feed of a Delta table: folding it gives the table, whichever program wrote the commits."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import delta_writer
from kit.change_folding import assert_feed_folds, rows_at, snapshot_of, text_of
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import DELETED, Column, Table
from lakehouse.delta import changes as feed
from lakehouse.delta import row_pairs
from lakehouse.delta.log_files import commit_file
from lakehouse.errors import MillraceError

THINGS = Table(
    name="gold.things",
    grain="thing",
    key=("thing", "part"),
    columns=(
        Column("thing", "string", "first part of the key; may be null"),
        Column("part", "int", "second part"),
        Column("seen_at", "timestamp", "event time"),
        Column("is_open", "boolean", "partition"),
        Column("price", "decimal(18,4)", "money"),
        Column("share", "double", "a float"),
        Column("steps", "array<struct<at: bigint, url: string>>", "nested"),
        Column("batch_id", "bigint", "provenance", provenance=True),
    ),
    event_time="seen_at",
    partitioned_by=("is_open",),
)
SCHEMA = arrow_schema(THINGS)
KEYS = [(thing, part) for thing in (None, "a", "b c", "ä") for part in (1, 2)]

values = st.fixed_dictionaries(
    {
        "seen_at": st.integers(0, 3).map(lambda at: datetime(2026, 3, 1, 12, 0, at, 17, timezone.utc)),
        "is_open": st.booleans(),
        "price": st.sampled_from([None, Decimal("1.0000"), Decimal("-0.0001")]),
        "share": st.sampled_from([None, 0.1, 1 / 3, float("inf")]),
        "steps": st.sampled_from([None, [], [{"at": 1, "url": None}], [{"at": 2, "url": "x"}, None]]),
        "batch_id": st.integers(0, 1),
    }
)
contents = st.dictionaries(st.sampled_from(KEYS), values, max_size=5)
commits = st.one_of(
    st.tuples(st.just("merge"), contents, st.sets(st.sampled_from(KEYS), max_size=3)),
    st.tuples(st.just("append"), contents),
    st.tuples(st.just("overwrite"), contents),
    st.tuples(st.just("delete"), st.sampled_from(["part = 1", "thing = 'a'", "is_open", "share > 1"])),
    st.tuples(st.just("compact")),
    st.tuples(st.just("rewrite")),
)


def rows_of(content: dict[tuple[str | None, int], dict[str, Any]]) -> pa.Table:
    rows = [{"thing": thing, "part": part, **row} for (thing, part), row in content.items()]
    return pa.Table.from_pylist(rows, SCHEMA)


WITHOUT_KEY = replace(THINGS, key=())


class Writer:
    """Commits to a table in a temporary warehouse, as jobs and as other programs do."""

    def __init__(self, warehouse: Path) -> None:
        self.warehouse = warehouse
        self.folder = delta_writer.folder_of(warehouse, THINGS)
        delta_writer.create_table(warehouse, THINGS)
        self.compactions: list[int] = []

    @property
    def version(self) -> int:
        return int(DeltaTable(self.folder).version())

    def merge(self, content: Any, deleted: set[tuple[str | None, int]]) -> None:
        deletions = {
            key: {"seen_at": datetime(2026, 3, 1, tzinfo=timezone.utc)} for key in deleted - content.keys()
        }
        rows = rows_of({**content, **deletions})
        flags = pa.array([False] * len(content) + [True] * len(deletions), pa.bool_())
        if rows.num_rows:
            changes = rows.append_column(DELETED, flags)
            delta_writer.merge(self.warehouse, THINGS, changes, {"job": "publish", "upto": 7})

    def append(self, content: Any) -> None:
        there = {(row["thing"], row["part"]) for row in rows_at(self.folder, THINGS).to_pylist()}
        new = {key: row for key, row in content.items() if key not in there}
        if new:
            delta_writer.append(self.warehouse, THINGS, rows_of(new), {"job": "publish"})

    def overwrite(self, content: Any) -> None:
        self._write(rows_of(content))

    def rewrite(self) -> None:
        self._write(rows_at(self.folder, THINGS).select(SCHEMA.names).cast(SCHEMA))
        self.compactions.append(self.version)

    def delete(self, predicate: str) -> None:
        DeltaTable(self.folder).delete(predicate)

    def compact(self) -> None:
        before = self.version
        DeltaTable(self.folder).optimize.compact()
        self.compactions += range(before + 1, self.version + 1)

    def _write(self, rows: pa.Table) -> None:
        write_deltalake(self.folder, rows, mode="overwrite", partition_by=["is_open"])


@given(st.lists(commits, min_size=1, max_size=7))
@settings(max_examples=25)
def test_fold_from_any_version_equals_table_at_each_later_version(series: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder:
        writer = Writer(Path(folder))
        for name, *arguments in series:
            getattr(writer, name)(*arguments)
        found = assert_feed_folds(writer.folder, THINGS)
        rewritten = set(writer.compactions)
        assert not rewritten & set(found["commit_version"].to_pylist()), "rows that were only moved"
        found = assert_feed_folds(writer.folder, WITHOUT_KEY)
        assert not rewritten & set(found["commit_version"].to_pylist()), "rows that were only moved"
        assert "update" not in found["change"].to_pylist()


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    """A table with two rows, of which version 2 updates the second."""
    made = Writer(tmp_path)
    made.append({("a", 1): {"share": 0.5, "is_open": True}, ("a", 2): {"share": 0.5, "is_open": True}})
    made.merge({("a", 2): {"share": 0.25, "is_open": True}}, set())
    return made


def test_change_has_rows_before_and_after_and_commit_metadata(writer: Writer) -> None:
    (change,) = feed.read_changes(writer.folder, THINGS, 1, 2).to_pylist()
    assert (change["change"], change["commit_version"], change["job"]) == ("update", 2, "publish")
    assert (change["before"]["share"], change["after"]["share"]) == (0.5, 0.25)
    assert change["upto"] == datetime(1970, 1, 1, 0, 0, 0, 7, timezone.utc)
    assert change["commit_timestamp"] > datetime(2026, 1, 1, tzinfo=timezone.utc)


def test_update_of_provenance_column_is_a_change(writer: Writer) -> None:
    writer.merge({("a", 2): {"share": 0.25, "is_open": True, "batch_id": 9}}, set())
    assert feed.read_changes(writer.folder, THINGS, 2, 3)["change"].to_pylist() == ["update"]


def test_change_by_another_program_has_no_job(writer: Writer) -> None:
    properties = CommitProperties(custom_metadata={"userMetadata": "by hand"})
    write_deltalake(writer.folder, rows_of({("b c", 1): {}}), mode="append", commit_properties=properties)
    assert feed.read_changes(writer.folder, THINGS, 2, 3)["job"].to_pylist() == [None]


def test_changes_of_rows_with_duplicate_keys_fold_to_the_table(writer: Writer) -> None:
    double = pa.concat_tables([rows_of({("a", 1): {"share": share}}) for share in (1.0, 2.0, 2.0)])
    write_deltalake(writer.folder, double, mode="overwrite", partition_by=["is_open"])
    write_deltalake(writer.folder, double.slice(1), mode="overwrite", partition_by=["is_open"])
    found = assert_feed_folds(writer.folder, THINGS)
    assert Counter(found["commit_version"].to_pylist())[4] >= 1


def test_changes_without_key_match_number_of_equal_rows(writer: Writer) -> None:
    for times in (3, 1, 2):
        rows = pa.concat_tables(
            [rows_of({("a", 1): {"share": 1.0, "steps": [{"at": 1, "url": "x"}]}})] * times
        )
        write_deltalake(writer.folder, rows, mode="overwrite", partition_by=["is_open"])
    found = feed.read_changes(writer.folder, WITHOUT_KEY, 3, 5).select(["change", "commit_version"])
    assert [tuple(each.values()) for each in found.to_pylist()] == [
        ("delete", 4),
        ("delete", 4),
        ("insert", 5),
    ]
    assert_feed_folds(writer.folder, WITHOUT_KEY)


def test_fold_check_detects_comparison_that_ignores_a_column(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = Table(THINGS.name, THINGS.grain, THINGS.key, THINGS.columns[:5])
    original = row_pairs._places
    monkeypatch.setattr(
        row_pairs,
        "_places",
        lambda table, *both: original(few, *(rows.select(few.column_names) for rows in both)),
    )
    with pytest.raises(AssertionError):
        assert_feed_folds(writer.folder, THINGS)


def test_changes_of_vacuumed_files_fail_with_advice_to_read_a_snapshot(writer: Writer) -> None:
    writer.compact()
    DeltaTable(writer.folder).vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(MillraceError, match=r"changes of version 2 .* can't be read.* snapshot.* version \d"):
        feed.read_changes(writer.folder, THINGS, 1, 2)
    with pytest.raises(MillraceError, match=r"version 1 of gold\.things can't be read"):
        snapshot_of(writer.folder, THINGS, 1)
    assert snapshot_of(writer.folder, THINGS).num_rows == 2


def test_changes_of_deleted_log_entry_cannot_be_read(writer: Writer) -> None:
    commit_file(writer.folder, 1).unlink()
    with pytest.raises(MillraceError, match=r"changes of version 1 .* can't be read"):
        feed.read_changes(writer.folder, THINGS, 0, 2)
    assert feed.read_changes(writer.folder, THINGS, 1, 2).num_rows == 1


def test_snapshot_of_missing_table_fails_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(MillraceError, match=r"no table gold\.things yet"):
        snapshot_of(tmp_path / "gold" / "things", THINGS)


def test_column_missing_in_old_files_is_null_in_changes(writer: Writer) -> None:
    wider = Table(
        **{
            **{
                name: getattr(THINGS, name)
                for name in ("name", "grain", "key", "event_time", "partitioned_by")
            },
            "columns": (*THINGS.columns, Column("note", "string", "new")),
        }
    )
    delta_writer.merge(
        writer.warehouse,
        wider,
        pa.Table.from_pylist(
            [{"thing": "a", "part": 2, "is_open": True, "note": "x", DELETED: False}],
            arrow_schema(wider).append(pa.field(DELETED, pa.bool_())),
        ),
        {},
    )
    version = writer.version
    (change,) = feed.read_changes(writer.folder, wider, version - 1, version).to_pylist()
    assert (change["before"]["note"], change["after"]["note"]) == (None, "x")
    assert text_of(change["before"]) != text_of(change["after"])
