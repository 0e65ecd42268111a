"""`run --once` beside a running engine: what is there now has to be done, and no more."""

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

BEGUN = datetime(2026, 3, 1, tzinfo=timezone.utc)


def work(home: Path, job: str, number: int, rows: int) -> None:
    """A micro-batch in the ledger; a job's n-th ends where ingest's n-th does."""
    position = BEGUN + timedelta(seconds=number)
    row = {"job": job, "batch_id": number, "position": position, "input_rows": rows, "started_at": position}
    append_rows(home, "ops.ledger", [{**row, "seconds": 0.5, "late": 0}])


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A home whose engine says it runs ingest and refine."""
    monkeypatch.setattr(wait_for_jobs, "engine_runs", lambda _: True)
    jobs: dict[str, Any] = {"ingest": {"restarts": 2}, "refine": {"restarts": 0}}
    write_state(tmp_path / "run" / "engine.json", {"jobs": jobs})
    for number in (1, 2):
        work(tmp_path, "ingest", number, 10 * number)
    return load_settings(home=tmp_path)


def meanwhile(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], None]) -> list[Callable[[], None]]:
    """Let something happen in each pause, instead of waiting."""
    left = list(steps)
    clock = SimpleNamespace(sleep=lambda _: left.pop(0)())  # of this module alone: others sleep too
    monkeypatch.setattr(wait_for_jobs, "time", clock)
    return left


def test_a_running_job_is_waited_for_until_it_has_what_was_there(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, reported = settings.home, list[str]()
    left = meanwhile(
        monkeypatch,
        lambda: work(home, "refine", 1, 10),
        lambda: work(home, "ingest", 3, 500),  # came too late to be waited for
        lambda: work(home, "refine", 2, 20),
    )
    wait_for_jobs.wait_until_caught_up(settings, ["refine"], reported.append)
    assert reported == ["refine: 30 rows to go", "refine: 20 rows to go", "refine: caught up"]
    assert left == []


def test_ingest_is_waited_for_until_it_has_read_what_was_in_kafka(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = TopicPartition("events", 0)
    monkeypatch.setattr(wait_for_jobs, "offset_spans", lambda _: {place: (0, 7)})
    checkpoint, reported = settings.home / "checkpoints" / "ingest", list[str]()

    def read(batch: int, offset: int) -> None:
        for kind in ("offsets", "commits"):
            (checkpoint / kind).mkdir(parents=True, exist_ok=True)
            (checkpoint / kind / str(batch)).write_text("v1\n{}\n" + json.dumps({"events": {"0": offset}}))

    meanwhile(monkeypatch, lambda: read(0, 3), lambda: read(1, 9))
    wait_for_jobs.wait_until_caught_up(settings, ["ingest"], reported.append)
    assert reported == ["ingest: 7 rows to go", "ingest: 4 rows to go", "ingest: caught up"]


def test_a_job_that_keeps_failing_is_not_waited_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        jobs = {"refine": {"restarts": 3, "last_error": "no luck"}}
        write_state(settings.home / "run" / "engine.json", {"jobs": jobs})

    meanwhile(monkeypatch, fail)
    with pytest.raises(MillraceError, match="refine keeps failing: no luck"):
        wait_for_jobs.wait_until_caught_up(settings, ["refine"], lambda _: None)


def test_a_job_that_the_engine_does_not_run_is_executed_as_a_command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed = []
    monkeypatch.setattr(
        wait_for_jobs, "execute_in_engine", lambda _settings, command, _log: executed.append(command)
    )
    wait_for_jobs.wait_until_caught_up(settings, ["publish"], lambda _: None)
    assert [(command.command, command.names) for command in executed] == [("run", ["publish"])]
