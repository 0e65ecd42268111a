"""What is read of the ledger does not grow with it: a job's latest rows, and those after a position."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.records import NOON
from kit.spark import empty_home
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run import ledger
from lakehouse.run.ledger import NAME, Entry, Ledger

BATCHES = 7


def entry(job: str, number: int) -> Entry:
    return Entry(job, number, NOON + timedelta(minutes=number), NOON, 1.0, input_rows=10)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lakehouse:
    """A ledger with the rows of two jobs, in the order of their batches."""
    settings = empty_home(spark, tmp_path_factory.mktemp("ledger"))
    lake = Lakehouse(spark.newSession(), settings, "refine")
    for number in range(BATCHES):
        Ledger(lake).record(entry("refine", number))
    Ledger(lake).record(entry("repair", 0))
    return lake


@pytest.fixture
def collected(lake: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Row counts of the answers, while at most 3 rows are read before a position is searched."""
    counts = list[int]()
    find = lake.find

    def counted(*arguments: Any) -> Any:
        answer = find(*arguments)
        assert arguments[0] == NAME
        counts.append(answer.num_rows)
        return answer

    monkeypatch.setattr(lake, "find", counted)
    monkeypatch.setattr(ledger, "_RECENT", 3)
    return counts


def test_last_reads_one_row(lake: Lakehouse, collected: list[int]) -> None:
    assert Ledger(lake).last("refine") == entry("refine", 6)
    assert Ledger(lake).last("repair") == entry("repair", 0)
    assert Ledger(lake).last("publish") is None
    assert collected == [1, 1, 0]


@pytest.mark.parametrize(
    ("minutes", "before", "rows"), [(6, 6, [3]), (4.5, 4, [3]), (3, 3, [3, 1, 3]), (-1, None, [3, 0, 7])]
)
def test_since_reads_rows_after_the_position_and_the_one_before(
    lake: Lakehouse, collected: list[int], minutes: float, before: int | None, rows: list[int]
) -> None:
    found, after = Ledger(lake).since("refine", NOON + timedelta(minutes=minutes))
    assert found == (None if before is None else entry("refine", before))
    assert after == [
        entry("refine", number) for number in range((-1 if before is None else before) + 1, BATCHES)
    ]
    assert collected == rows


def test_latest_reads_enough_rows_for_the_input(lake: Lakehouse, collected: list[int]) -> None:
    assert Ledger(lake).latest("refine", 15) == [entry("refine", 5), entry("refine", 6)]
    assert len(Ledger(lake).latest("refine", 1000)) == 3
    assert collected == [3, 3]


def test_job_that_is_far_behind_reads_the_first_rows_only(
    lake: Lakehouse, collected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MOST_ROWS", 2)
    after = NOON + timedelta(minutes=1)
    assert Ledger(lake).after("refine", after) == [entry("refine", 2), entry("refine", 3)]
    assert Ledger(lake).input_rows_after("refine", after) == 50
    assert Ledger(lake).input_rows_after("none", after) == 0
    assert collected == [2, 1, 1]
