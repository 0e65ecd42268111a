"""Transaction ids of commits by two applications, on a log as Delta keeps it. Needs no Spark."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.delta.commit_log import Commit
from lakehouse.delta.compare_and_swap import CompareAndSwap
from lakehouse.errors import ConcurrentChangeError

NAME = "silver.exchange_rates"


class Table:
    """A table's commits, the last transaction id, and the rows of each commit that was not skipped."""

    def __init__(self) -> None:
        self.log: list[dict[str, Any]] = []
        self.last_id = 0
        self.rows: list[str] = []

    def commits(self, _name: str) -> Iterator[Commit]:
        return iter([(0, entry) for entry in reversed(self.log)])

    def write(self, row: str, job: str) -> Callable[..., None]:
        def commit(transaction: Mapping[str, Any], metadata: Mapping[str, object]) -> None:
            if transaction["txnVersion"] > self.last_id:  # else Delta skips the commit
                self.last_id = int(transaction["txnVersion"])
                self.log.append({**metadata, "job": job})
                self.rows.append(row)

        return commit

    def optimize_and_clean_up(self) -> None:
        """The log loses all commits with an id; the checkpoint has the last one."""
        self.log = [{"operation": "OPTIMIZE"}]


@given(st.integers(0, 70), st.integers(1, 5))
def test_table_whose_log_lost_its_ids_is_written_again(before: int, after: int) -> None:
    table = Table()
    for number in range(before):
        CompareAndSwap(table.commits, "refine").commit(NAME, table.write(f"old {number}", "refine"))
    table.optimize_and_clean_up()
    swap = CompareAndSwap(table.commits, "refine")
    for number in range(after):
        swap.begin()
        swap.commit(NAME, table.write(f"new {number}", "refine"))
    assert table.rows[before:] == [f"new {number}" for number in range(after)]


@given(st.integers(0, 70))
def test_of_two_that_read_a_log_without_ids_one_commits(before: int) -> None:
    table = Table()
    for number in range(before):
        CompareAndSwap(table.commits, "refine").commit(NAME, table.write(f"old {number}", "refine"))
    table.optimize_and_clean_up()
    one, other = (CompareAndSwap(table.commits, job) for job in ("refine", "rebuild"))
    one.note(NAME)
    table.log.append({"operation": "OPTIMIZE"})
    other.note(NAME)
    other.commit(NAME, table.write("other", "rebuild"))
    with pytest.raises(ConcurrentChangeError):
        one.commit(NAME, table.write("one", "refine"))
    assert table.rows[before:] == ["other"]


@given(st.integers(0, 70), st.integers(0, 8))
def test_application_that_commits_while_another_tries_ids_wins(before: int, tries: int) -> None:
    table, left = Table(), [tries]
    for number in range(before):
        CompareAndSwap(table.commits, "refine").commit(NAME, table.write(f"old {number}", "refine"))
    table.optimize_and_clean_up()
    one, other = (CompareAndSwap(table.commits, job) for job in ("refine", "rebuild"))
    one.note(NAME)
    other.note(NAME)
    write = table.write("one", "refine")

    def overtaken(transaction: Mapping[str, Any], metadata: Mapping[str, object]) -> None:
        left[0] -= 1
        if left[0] == -1:
            other.commit(NAME, table.write("other", "rebuild"))
        write(transaction, metadata)

    try:
        one.commit(NAME, overtaken)
    except ConcurrentChangeError:
        assert table.rows[before:] == ["other"]
    else:
        assert table.rows[before:] == ["one"]
