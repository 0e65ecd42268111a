"""The side input of a micro-batch of publish, from simulated logs of silver's tables."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gold.gate import gate_view
from gold.gate.gate_view import pin_batch, pin_for_rebuild
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


def lake_with(**logs: list[tuple[str, int | None]]) -> Any:
    """Tables of silver, each with commits as job and high-water mark, in order, after its creation."""
    commits = {
        f"silver.{name}": [(0, {}), *enumerate((_metadata(*commit) for commit in log), 1)]
        for name, log in logs.items()
    }
    return SimpleNamespace(commits=lambda name: iter(commits.get(name, [(0, {})])[::-1]), pinned=None)


def _metadata(job: str | None, upto: int | None) -> dict[str, Any]:
    return {"job": job} if upto is None else {"job": job, "upto": upto}


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


@pytest.mark.parametrize(
    ("sessions", "bots", "pinned"),
    [
        pytest.param(
            [("refine", 20), ("refine", 30)], [("repair", 10), ("repair", 20)], (1, 1), id="backlog"
        ),
        pytest.param(
            [("refine", 20), ("rebuild", None)], [("repair", 10)], (2, 1), id="rebuilt as published"
        ),
        pytest.param(
            [("refine", 20), ("refine", 30), ("rebuild", None)], [("repair", 10)], (3, 1), id="rows rebuilt"
        ),
        pytest.param(
            [("refine", 20)], [("repair", 10), ("repair", 20), ("replay", None)], (1, 3), id="bots rebuilt"
        ),
    ],
)
def test_rebuild_of_gold_reads_what_publish_has_processed_unless_a_rebuild_of_silver_has_more(
    sessions: list[Any], bots: list[Any], pinned: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publish has rows through 20, and changes of repair through 10; the gate approves rows through 30."""
    last = SimpleNamespace(position=from_micros(20), heard=from_micros(10))
    monkeypatch.setattr(gate_view, "Ledger", lambda _: SimpleNamespace(last=lambda _: last))
    monkeypatch.setattr(gate_view, "check_backlog", lambda _: from_micros(30))
    lake = lake_with(sessions=sessions, bots=bots)
    run: Any = SimpleNamespace(lake=lake)
    pin_for_rebuild(run, lake)
    assert (lake.pinned(SESSIONS), lake.pinned(BOTS)) == pinned
