"""The side input of a micro-batch of publish, from simulated logs of silver's tables."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gold.gate.gate_view import pin_batch
from lakehouse.run.batch_source import Batch
from lakehouse.timestamps import from_micros

SESSIONS, BOTS = "silver.sessions", "silver.bots"
BATCH = Batch(
    3,
    after=from_micros(10),
    upto=from_micros(20),
    rows=1,
    side_input_after=from_micros(5),
    side_input_upto=from_micros(10),
)


def lake_with(**logs: list[tuple[str, int]]) -> Any:
    """Tables of silver, each with commits as job and high-water mark, in order, after its creation."""
    commits = {
        f"silver.{name}": [(0, {}), *enumerate(({"job": job, "upto": upto} for job, upto in log), 1)]
        for name, log in logs.items()
    }
    return SimpleNamespace(commits=lambda name: iter(commits.get(name, [(0, {})])[::-1]), pinned=None)


@pytest.mark.parametrize(
    ("log", "version", "side_input"),
    [
        pytest.param([("refine", 20), ("repair", 10)], 2, 10, id="all approved"),
        pytest.param([("repair", 10), ("refine", 30)], 1, 10, id="before rows that are not approved"),
        pytest.param([("refine", 20), ("refine", 30), ("repair", 10)], 1, 5, id="after these"),
        pytest.param([("refine", 20), ("refine", 30), ("repair", 5)], 1, 10, id="processed before"),
        pytest.param([("refine", 20), ("refine", 30), (None, 0)], 1, 10, id="compaction after these"),
        pytest.param(
            [("refine", 20), ("repair", 10), ("refine", 30), ("repair", 30)], 2, 10, id="later side input"
        ),
    ],
)
def test_side_input_waits_while_its_rows_are_behind_rows_that_are_not_approved(
    log: list[tuple[str, int]], version: int, side_input: int
) -> None:
    lake = lake_with(sessions=log)
    admitted = pin_batch(lake, from_micros(20), BATCH)
    assert lake.pinned(SESSIONS) == version
    assert admitted == replace(BATCH, side_input_upto=from_micros(side_input))


def test_side_input_beyond_the_approved_rows_waits() -> None:
    late = replace(BATCH, side_input_upto=from_micros(30))
    assert pin_batch(lake_with(), from_micros(20), late).side_input_upto == from_micros(5)


def test_tables_of_repair_are_read_as_of_the_side_input() -> None:
    """A bot is known in the micro-batch in which it is new, not in one before it."""
    lake = lake_with(bots=[("repair", 5), ("repair", 10), ("repair", 15)])
    pin_batch(lake, from_micros(20), BATCH)
    assert lake.pinned(BOTS) == 2
