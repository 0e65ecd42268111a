"""Corrected rows of a version, against a forward walk over all snapshots."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Column, Table
from lakehouse.delta.corrected_rows import count_corrected
from lakehouse.delta.log_files import commit_file
from lakehouse.readers.folder_tables import FolderTables

KEYED = Table(
    name="gold.things",
    grain="thing",
    key=("thing",),
    columns=(
        Column("thing", "string", "key"),
        Column("price", "double", "a figure"),
        Column("batch_id", "bigint", "provenance", provenance=True),
    ),
)
WITHOUT_KEY = Table("gold.things", "thing", (), KEYED.columns)


class OneFolder(FolderTables):
    """A folder with one table, whatever its name."""

    def folder(self, name: str) -> Path:
        return self.warehouse


Content = Mapping[str, tuple[float, int]]
contents = st.dictionaries(
    st.sampled_from("abcd"), st.tuples(st.sampled_from([1.0, 2.0]), st.integers(0, 1)), max_size=4
)


def write(folder: Path, content: Content) -> None:
    rows = [{"thing": thing, "price": price, "batch_id": batch} for thing, (price, batch) in content.items()]
    write_deltalake(folder, pa.Table.from_pylist(rows, arrow_schema(KEYED)), mode="overwrite")


def expected(states: list[Content], version: int, first: int) -> int:
    """Count the rows of a version that a commit from `first` on changed or deleted."""
    found = 0
    for thing, (price, _) in states[version].items():
        for commit in range(version + 1, len(states)):
            now = states[commit].get(thing)
            if (now is None or now[0] != price) and commit >= first:
                found += 1
                break
            if now is None:
                break
            price = now[0]
    return found


@settings(max_examples=25, deadline=None)
@given(st.lists(contents, min_size=1, max_size=6), st.integers(0, 7))
def test_corrected_rows_agree_with_walk_over_all_snapshots(states: list[Content], first: int) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "things"
        for content in states:
            write(folder, content)
        found = count_corrected(OneFolder(folder), KEYED, range(len(states)), first)
    assert found.counts == {version: expected(states, version, first) for version in range(len(states))}
    assert found.first_version == 0


@settings(max_examples=15, deadline=None)
@given(st.lists(contents, min_size=2, max_size=4))
def test_rows_without_key_missing_in_next_version_count_as_corrected(states: list[Content]) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "things"
        for content in states:
            write(folder, content)
        found = count_corrected(OneFolder(folder), WITHOUT_KEY, [len(states) - 2])
    before, after = (
        Counter((thing, price) for thing, (price, _) in content.items()) for content in states[-2:]
    )
    assert found.counts == {len(states) - 2: (before - after).total()}


def test_change_of_provenance_alone_is_no_correction(tmp_path: Path) -> None:
    for content in ({"a": (1.0, 0), "b": (1.0, 0)}, {"a": (1.0, 1), "b": (2.0, 1)}):
        write(tmp_path, content)
    assert count_corrected(OneFolder(tmp_path), KEYED, [0]).counts == {0: 1}


def test_row_inserted_later_is_not_counted_for_earlier_version(tmp_path: Path) -> None:
    for content in ({"a": (1.0, 0)}, {"a": (1.0, 0), "b": (1.0, 0)}, {"a": (1.0, 0), "b": (2.0, 0)}):
        write(tmp_path, content)
    assert count_corrected(OneFolder(tmp_path), KEYED, [0, 1, 2]).counts == {0: 0, 1: 1, 2: 0}


def test_corrections_before_given_time_are_not_counted(tmp_path: Path) -> None:
    for price in (1.0, 2.0):
        write(tmp_path, {"a": (price, 0)})
    committed = DeltaTable(tmp_path).history(1)[0]["timestamp"] / 1_000
    at, later = (datetime.fromtimestamp(committed + more, timezone.utc) for more in (0, 0.001))
    assert count_corrected(OneFolder(tmp_path), KEYED, [0], since=at).counts == {0: 1}
    assert count_corrected(OneFolder(tmp_path), KEYED, [0], since=later).counts == {0: 0}


def test_versions_before_start_of_change_feed_are_not_counted(tmp_path: Path) -> None:
    for price in (1.0, 2.0, 3.0, 4.0):
        write(tmp_path, {"a": (price, 0)})
    commit_file(tmp_path, 2).unlink()
    found = count_corrected(OneFolder(tmp_path), KEYED, [0, 1, 2, 3, 9])
    assert found.counts == {2: 1, 3: 0}
    assert found.first_version == 2


def test_missing_table_has_no_corrected_rows(tmp_path: Path) -> None:
    def counts(versions: list[int]) -> Any:
        return count_corrected(OneFolder(tmp_path / "none"), KEYED, versions).counts

    assert counts([]) == counts([3]) == {}
