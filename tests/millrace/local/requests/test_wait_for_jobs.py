"""`run --once` with a running engine: it waits for the rows that are present at its start."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.structs import TopicPartition

from kit.warehouse_builder import append_rows
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.local.process.state_files import write_state
from millrace.local.requests import wait_for_jobs

START = datetime(2026, 3, 1, tzinfo=timezone.utc)


def write_batch(home: Path, job: str, number: int, rows: int) -> None:
    """Write a micro-batch to the ledger; batch n of a job has the position of ingest's batch n."""
    position = START + timedelta(seconds=number)
    row = {"job": job, "batch_id": number, "position": position, "input_rows": rows, "started_at": position}
    append_rows(home, "ops.ledger", [{**row, "seconds": 0.5, "late": 0}])


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A home whose engine reports that it runs ingest and refine."""
    monkeypatch.setattr(wait_for_jobs, "engine_runs", lambda _: True)
    jobs: dict[str, Any] = {"ingest": {"restarts": 2}, "refine": {"restarts": 0}}
    write_state(tmp_path / "run" / "engine.json", {"jobs": jobs})
    for number in (1, 2):
        write_batch(tmp_path, "ingest", number, 10 * number)
    return load_settings(home=tmp_path)


def run_during_sleeps(
    monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], None]
) -> list[Callable[[], None]]:
    """Run one of the steps in each sleep, instead of waiting."""
    left = list(steps)
    clock = SimpleNamespace(sleep=lambda _: left.pop(0)())  # in this module only: others sleep too
    monkeypatch.setattr(wait_for_jobs, "time", clock)
    return left


def test_wait_ends_when_job_has_processed_rows_present_at_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, reported = settings.home, list[str]()
    left = run_during_sleeps(
        monkeypatch,
        lambda: write_batch(home, "refine", 1, 10),
        lambda: write_batch(home, "ingest", 3, 500),  # committed after the start, so not waited for
        lambda: write_batch(home, "refine", 2, 20),
    )
    wait_for_jobs.wait_until_caught_up(settings, ["refine"], reported.append)
    assert reported == ["refine: 30 rows to go", "refine: 20 rows to go", "refine: caught up"]
    assert left == []


def test_wait_ends_when_ingest_has_read_offsets_present_at_start(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = TopicPartition("events", 0)
    monkeypatch.setattr(wait_for_jobs, "offset_spans", lambda _: {place: (0, 7)})
    checkpoint, reported = settings.home / "checkpoints" / "ingest", list[str]()

    def read(batch: int, offset: int) -> None:
        for kind in ("offsets", "commits"):
            (checkpoint / kind).mkdir(parents=True, exist_ok=True)
            (checkpoint / kind / str(batch)).write_text("v1\n{}\n" + json.dumps({"events": {"0": offset}}))

    run_during_sleeps(monkeypatch, lambda: read(0, 3), lambda: read(1, 9))
    wait_for_jobs.wait_until_caught_up(settings, ["ingest"], reported.append)
    assert reported == ["ingest: 7 rows to go", "ingest: 4 rows to go", "ingest: caught up"]


def test_wait_fails_if_job_keeps_failing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        jobs = {"refine": {"restarts": 3, "last_error": "no luck"}}
        write_state(settings.home / "run" / "engine.json", {"jobs": jobs})

    run_during_sleeps(monkeypatch, fail)
    with pytest.raises(MillraceError, match="refine keeps failing: no luck"):
        wait_for_jobs.wait_until_caught_up(settings, ["refine"], lambda _: None)


def test_job_that_engine_does_not_run_is_executed_as_command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed = []
    monkeypatch.setattr(
        wait_for_jobs, "execute_in_engine", lambda _settings, command, _log: executed.append(command)
    )
    wait_for_jobs.wait_until_caught_up(settings, ["publish"], lambda _: None)
    assert [(command.command, command.names) for command in executed] == [("run", ["publish"])]
