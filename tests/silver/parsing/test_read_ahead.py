"""Batches read ahead equal batches read on demand."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from kit.polling import eventually
from kit.records import NOON
from lakehouse.delta.lookup import Lookup
from lakehouse.run.microbatch import Batch, FollowingBatch
from lakehouse.run.query_tuning import SMALL_BATCH_ROWS
from lakehouse.timestamps import to_micros
from silver.parsing.read_ahead import ReadAhead

MINUTE = timedelta(minutes=1)
STAMPS = [to_micros(NOON + minute * MINUTE) for minute in range(1, 5)]


class Lake:
    """One record for each minute."""

    def __init__(self) -> None:
        self.reads = 0
        self.broken: int | None = None

    def find(self, _name: str, wanted: Lookup) -> pa.Table:
        self.reads += 1
        records = pa.table({"ingested_at": STAMPS})
        found = records.filter(wanted.mask(records))
        if self.broken in found["ingested_at"].to_pylist():
            raise OSError("no such file")
        return found


class Parser:
    """Adds its name as a column."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, records: pa.Table) -> pa.Table:
        return records.append_column("parser", pa.array([self.name] * records.num_rows))


@pytest.fixture
def lake() -> Lake:
    return Lake()


@pytest.fixture
def ahead(lake: Any) -> ReadAhead:
    return ReadAhead(lake)


def batch(minute: int, following: bool = True) -> Batch:
    upto = NOON + minute * MINUTE
    then = FollowingBatch(upto + MINUTE, 1) if following else None
    return Batch(minute, upto - MINUTE, upto, 1, following=then)


def rows(minute: int, parser: str = "a") -> list[dict[str, Any]]:
    return [{"ingested_at": STAMPS[minute - 1], "parser": parser}]


def test_each_batch_is_read_once(lake: Lake, ahead: Any) -> None:
    parser = Parser("a")
    for minute in range(1, 5):
        assert ahead.candidates(
            batch(minute, following=minute < 4), parser, on_driver=True
        ).to_pylist() == rows(minute)
        eventually(partial(_has_read, lake, min(minute + 1, 4)), 10, "the next batch to be read")


def _has_read(lake: Lake, batches: int) -> bool:
    return lake.reads == batches


def test_changed_rules_apply_to_batch_already_read_ahead(ahead: Any) -> None:
    ahead.candidates(batch(1), Parser("a"), on_driver=True)
    assert ahead.candidates(batch(2), Parser("b"), on_driver=True).to_pylist() == rows(2, "b")


def test_batch_other_than_the_announced_one_is_read_on_demand(ahead: Any) -> None:
    parser = Parser("a")
    ahead.candidates(batch(1), parser, on_driver=True)
    assert ahead.candidates(batch(3), parser, on_driver=True).to_pylist() == rows(3)


def test_read_ahead_error_is_raised_once_in_its_own_batch(lake: Lake, ahead: Any) -> None:
    parser = Parser("a")
    lake.broken = STAMPS[1]
    ahead.candidates(batch(1), parser, on_driver=True)
    with pytest.raises(OSError, match="no such file"):
        ahead.candidates(batch(2), parser, on_driver=True)
    lake.broken = None
    assert ahead.candidates(batch(2), parser, on_driver=True).to_pylist() == rows(2)


def test_large_batch_for_spark_is_not_read_ahead(
    lake: Lake, ahead: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[object] = []
    monkeypatch.setattr(ahead, "_begin", requests.append)
    ahead.candidates(batch(1), Parser("a"), on_driver=True)
    assert len(requests) == 1
    most = FollowingBatch(NOON + 2 * MINUTE, SMALL_BATCH_ROWS)
    ahead.candidates(replace(batch(1), following=most), Parser("a"), on_driver=True)
    assert len(requests) == 1
