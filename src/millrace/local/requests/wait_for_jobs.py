"""`millrace run … --once` while an engine runs: waits for its jobs, and runs others once."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from bronze.checkpoint import Checkpoint
from bronze.kafka import offset_spans
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.local.bundle.jobs import bundle_jobs
from millrace.local.process.state_files import read_state
from millrace.local.requests.command_client import engine_runs, execute_in_engine
from millrace.local.requests.engine_commands import RUN, EngineCommand
from millrace.tables import table_reader
from millrace.tables.gate_status import held_error, is_held

_POLL_SECONDS = 0.5
_FAILURES = 3
"""Number of failures after which waiting for a job ends with an error."""

Log = Callable[[str], None]


def wait_until_caught_up(settings: Settings, names: Sequence[str], log: Log) -> None:
    """Wait until the engine's jobs have caught up; run the others once in the engine.

    Args:
        settings: the settings in force.
        names: jobs of the bundle.
        log: called with each progress line.

    Raises:
        MillraceError: if a job keeps failing, or the engine ends.
    """
    for name in names:
        if name not in _jobs(settings):
            execute_in_engine(settings, EngineCommand(RUN, [name]), log)
        elif name == "ingest":
            _wait(settings, name, _records_ahead(settings), log)
        else:
            _wait(settings, name, _rows_behind(settings, name), log)
        log(f"{name}: caught up")


def _wait(settings: Settings, name: str, left: Iterator[int], log: Log) -> None:
    failures, logged = _restarts(settings, name) + _FAILURES, 0
    for rows in left:
        if rows != logged:
            log(f"{name}: {rows:,} rows to go")
        logged = rows
        if name == "publish" and is_held(settings):
            raise held_error(settings)
        if not engine_runs(settings):
            raise MillraceError(
                "the engine ended before the jobs had caught up", "Start it with `millrace up`"
            )
        if _restarts(settings, name) >= failures:
            why = _jobs(settings)[name].get("last_error")
            raise MillraceError(f"{name} keeps failing: {why}", "See logs/engine.log in the home")
        time.sleep(_POLL_SECONDS)


def _records_ahead(settings: Settings) -> Iterator[int]:
    """Number of records, of those in Kafka at the start, that ingest has not read, until there are none."""
    ends = {place: end for place, (_, end) in offset_spans(settings).items()}
    checkpoint = Checkpoint.of_ingest(settings)
    while True:
        reached = checkpoint.reached
        left = {
            place: end - reached.get(place.topic, {}).get(str(place.partition), 0)
            for place, end in ends.items()
        }
        if not (rows := sum(max(ahead, 0) for ahead in left.values())):
            return
        yield rows


def _rows_behind(settings: Settings, name: str) -> Iterator[int]:
    """Number of rows, of those in bronze at the start, that a job has not processed, until there are none."""
    target = table_reader.ledger_sums(settings).get("ingest", {}).get("position")
    while target is not None and (
        rows := table_reader.rows_between(settings, _position(settings, name), target)
    ):
        yield rows


def _position(settings: Settings, name: str) -> datetime | None:
    """The lower of the high-water marks of a job and of its side input."""
    jobs = table_reader.ledger_sums(settings).get(name, {})
    reached = [jobs[way] for way in ("position", "heard") if jobs.get(way) is not None]
    return min(reached, default=None)


def _jobs(settings: Settings) -> dict[str, dict[str, Any]]:
    """The engine's continuous jobs, from its state file; from the bundle before that file exists."""
    jobs: dict[str, dict[str, Any]] = read_state(settings.home / "run" / "engine.json").get("jobs", {})
    if not jobs:
        return {name: {} for name, job in bundle_jobs(settings).items() if job.is_continuous}
    return {name: job for name, job in jobs.items() if _is_running(job)}


def _is_running(job: dict[str, Any]) -> bool:
    return job.get("kind", "continuous") == "continuous" and job.get("state") != "paused"


def _restarts(settings: Settings, name: str) -> int:
    return int(_jobs(settings).get(name, {}).get("restarts", 0))
