"""The cache of Parquet columns: hits, eviction and memory limit."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import READS
from lakehouse.contracts.silver import BOTS
from lakehouse.contracts.table import DELETED
from lakehouse.delta import parquet_cache
from lakehouse.delta.compaction_plan import MIN_FILES
from lakehouse.delta.local_tables import LocalTables
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.delta.parquet_cache import ParquetCache
from lakehouse.rows.arrow_times import in_micros

SCHEMA = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.int64())])
BYTES_PER_COLUMN = 8_000


def files(folder: Path, count: int) -> list[Path]:
    """Files of 1,000 rows with one number each."""
    paths = [folder / f"{number}.parquet" for number in range(count)]
    for number, path in enumerate(paths):
        pq.write_table(pa.table({"a": [number] * 1_000, "b": [-number] * 1_000}, SCHEMA), path)
    return paths


def test_cached_columns_are_not_read_again(tmp_path: Path) -> None:
    (path,) = files(tmp_path, 1)
    cache = ParquetCache()
    for names in (["a"], ["b", "a"]):
        cache.read((str(path),), pa.schema([SCHEMA.field(name) for name in names]))
    path.unlink()
    assert cache.read((str(path),), SCHEMA).to_pydict() == {"a": [0] * 1_000, "b": [0] * 1_000}


def test_least_recently_read_file_is_evicted_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_cache, "_MIN_BYTES", 5 * BYTES_PER_COLUMN)  # two files of two columns
    monkeypatch.setattr(parquet_cache, "_memory", lambda: 0)
    cache, paths = ParquetCache(), files(tmp_path, 3)
    for number in (0, 1, 0, 2):
        assert cache.read((str(paths[number]),), SCHEMA)["a"][0].as_py() == number
    for path in paths:
        path.unlink()
    for number in (0, 2):
        assert cache.read((str(paths[number]),), SCHEMA)["b"][0].as_py() == -number
    with pytest.raises(FileNotFoundError):
        cache.read((str(paths[1]),), SCHEMA)


def test_replaced_files_are_evicted_by_the_next_merge(tmp_path: Path) -> None:
    tables = LocalTables(tmp_path)
    tables.ensure(BOTS, {})
    schema = in_micros(arrow_schema(BOTS).empty_table()).schema.append(pa.field(DELETED, pa.bool_()))
    row = pa.Table.from_pylist([{"visitor_id": "v", DELETED: False}], schema)
    kept = []
    for _ in range(5):
        tables.merge(BOTS, row, Scope(), {})
        kept.append(len(tables._cache._files))
    assert kept == [1, 2, 2, 2, 2]


def test_files_replaced_by_compaction_are_evicted_by_the_next_compaction(tmp_path: Path) -> None:
    tables = LocalTables(tmp_path)
    tables.ensure(READS, {})
    schema, kept = arrow_schema(READS), []
    for _ in range(3):
        for _ in range(MIN_FILES + 1):
            tables.append(READS, pa.Table.from_pylist([{"reader": "ann"}], schema), {})
            tables.find(READS, Lookup(("reader",)))
        before, after = tables.compact(READS)
        assert after < before
        kept.append((len(tables._cache._files), len(tables._replaced[READS.name])))
    assert kept[2] <= kept[1]


@pytest.mark.parametrize(("limit", "is_less"), [("1073741824", True), ("max", False)])
def test_memory_is_limited_by_cgroup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, is_less: bool
) -> None:
    physical = parquet_cache._memory()
    file = tmp_path / "memory.max"
    file.write_text(f"{limit}\n")
    monkeypatch.setattr(parquet_cache, "_CGROUP_LIMIT", file)
    assert parquet_cache._memory() == (2**30 if is_less else physical)
