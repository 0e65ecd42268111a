"""Rows of a table are on disk, and within a budget, until they have been sent."""

import gc
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from serving.query_limits import TryLaterError
from serving.reader_budget import ReaderBudget
from serving.sources.stored_rows import StoredRows


def parts(count: int, width: int = 500) -> Iterator[pa.Table]:
    """Parts of 2,048 rows with a wide text."""
    yield pa.table({"id": pa.array([], pa.int64()), "text": pa.array([], pa.string())})
    for part in range(count):
        ids = range(2_048 * part, 2_048 * (part + 1))
        yield pa.table(
            {"id": pa.array(ids, pa.int64()), "text": [f"{each} ".ljust(width, "x") for each in ids]}
        )


def ids(rows: StoredRows) -> list[int]:
    return [json.loads(line)["id"] for part in rows.lines() for line in part.split(b"\n")]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_rows_are_taken_as_they_were_read_by_any_thread(tmp_path: Path, count: int) -> None:
    rows = StoredRows(parts(count), folder=tmp_path)
    with ThreadPoolExecutor(4) as threads:
        found = [threads.submit(ids, rows) for _ in range(4)]
    assert all(each.result() == list(range(2_048 * count)) for each in found)
    assert list(tmp_path.iterdir()) == []


def test_rows_that_nobody_takes_hold_no_memory(tmp_path: Path) -> None:
    before = pa.total_allocated_bytes()
    rows = [StoredRows(parts(20), folder=tmp_path) for _ in range(5)]
    taking = [each.lines() for each in rows]
    first = [next(each) for each in taking]
    assert pa.total_allocated_bytes() - before < 1 << 20
    assert all(len(each) < 200 << 10 for each in first)


def test_rows_are_counted_for_their_reader_as_long_as_they_are_kept(tmp_path: Path) -> None:
    size = sum(len(content) for (content,) in StoredRows(parts(5), folder=tmp_path)._parts)
    budget = ReaderBudget(3 * size, 2 * size, "too many rows", "Read fewer columns")

    def kept(reader: str) -> StoredRows:
        return StoredRows(parts(5), budget, reader, tmp_path)

    one = [kept("one"), kept("one")]
    with pytest.raises(TryLaterError, match=r"too many rows\. Read fewer columns"):
        kept("one")
    other = kept("other")
    with pytest.raises(TryLaterError):
        kept("third")
    taking = one.pop().lines()
    next(taking)
    with pytest.raises(TryLaterError):
        kept("one")
    del taking
    gc.collect()
    assert ids(kept("one")) == ids(other)
