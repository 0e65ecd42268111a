"""Large results take disk instead of memory, and any thread can read them."""

import gc
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from serving.processes.result import Result
from serving.processes.stored_parts import StoredParts
from serving.query_limits import TryLaterError
from serving.sources.query_result import Part


def part(number: int, *, has_keys: bool = True) -> Part:
    rows = b"\n".join(b'{"a":%d,"b":%d}' % (number, each) for each in range(2_000))
    return Part(rows, b"\n".join(b"[%d,%d]" % (number, each) for each in range(2_000)) if has_keys else None)


def open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.parametrize("has_keys", [True, False])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_parts_are_read_as_they_were_added(tmp_path: Path, count: int, has_keys: bool) -> None:
    stored, parts = StoredParts(tmp_path), [part(number, has_keys=has_keys) for number in range(count)]
    for each in parts:
        stored.add(*each.texts)
    with ThreadPoolExecutor(8) as threads:
        found = [threads.submit(list, stored) for _ in range(8)]
    assert all([Part(*texts) for texts in each.result()] == parts for each in found)


def test_large_result_takes_little_memory_and_leaves_no_file(tmp_path: Path) -> None:
    gc.collect()  # of files of other tests
    before = open_files()
    tracemalloc.start()
    result = Result([["a", "b"], *(part(number) for number in range(3))], folder=tmp_path)
    few, _ = tracemalloc.get_traced_memory()
    large = Result((part(number) for number in range(200)), folder=tmp_path)
    many, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert many - few < 1 << 20
    assert sum(map(len, large.lines())) > 4 << 20
    assert list(tmp_path.iterdir()) == []
    del result, large
    gc.collect()
    assert open_files() == before


def test_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    stored = StoredParts(tmp_path)
    stored.add(*part(0).texts)
    with pytest.raises(TryLaterError, match=r"No space left on device\. Free some space"):
        stored.add(*part(1).texts)
    assert list(stored) == [part(0).texts]
