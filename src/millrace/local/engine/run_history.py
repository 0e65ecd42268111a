"""The history of runs: a record and a log for each run of a job.

They are under `runs/JOB` in the home: `ID.json` has the state of the run, `ID.log` its log lines.
"""

import os
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

from lakehouse.run.job import JobListener
from lakehouse.timestamps import now_rfc3339
from millrace.local.process.state_files import read_state, write_state

RUNNING, SUCCEEDED, FAILED, STOPPED, BROKEN_OFF = "running", "succeeded", "failed", "stopped", "broken off"
MAX_RUNS = 50
"""Number of runs per job whose records are kept."""


class RunLog(JobListener):
    """Record and log of one run. Forwards progress to another listener, under the job's name.

    Args:
        home: the folder of all local state.
        job: name of the job.
        cause: why it runs: `continuous`, `schedule`, `command` or `gate`.
        above: another listener of the run.
    """

    def __init__(self, home: Path, job: str, cause: str, above: JobListener) -> None:
        self.job = job
        self._above = above
        _delete_old(home, job)
        self.file = _new_file(folder(home, job))
        self._record: dict[str, Any] = {"job": job, "cause": cause, "state": RUNNING}
        self._record |= {"started_at": now_rfc3339(), "ended_at": None, "task": None}
        self._record |= {"batches": 0, "rows": 0, "error": None, "pid": os.getpid()}
        self._log: TextIO = self.file.with_suffix(".log").open("a", encoding="utf-8")
        self._write()

    def report_backlog(self, job: str, rows: int) -> None:
        """Forward to the other listener."""
        self._above.report_backlog(self.job, rows)

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        """Count a micro-batch."""
        self._record["batches"] += 1
        self._record["rows"] += rows
        self._line(f"{job}: batch of {rows:,} rows in {seconds:.1f} s")
        self._above.report_batch(self.job, rows, seconds)

    def log(self, job: str, line: str) -> None:
        """Write a line."""
        self._line(f"{job}: {line}")
        self._above.log(self.job, line)

    def begin_task(self, key: str) -> None:
        """Record which task is running."""
        self._record["task"] = key
        self._line(f"task {key} begins")
        self._write()

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Record the end of the run."""
        what = None if error is None else " ".join(str(error).split())[:300] or type(error).__name__
        self._record |= {"state": state, "ended_at": now_rfc3339(), "error": what}
        self._line(f"{state}: {error}" if error else state)
        self._write()
        self._log.close()

    def _line(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a full disk, or a line after the end
            self._log.write(f"{now_rfc3339()} {line}\n")
            self._log.flush()

    def _write(self) -> None:
        with suppress(OSError):
            write_state(self.file, self._record)


def folder(home: Path, job: str) -> Path:
    """Folder of a job's runs."""
    return home / "runs" / job


def mark_interrupted(home: Path, job: str) -> bool:
    """Mark runs without an end as interrupted. Returns whether the last one was.

    Only the home's single Spark application may call this, since no other run is active then.
    """
    last = False
    for file in _files(home, job):
        record = read_state(file)
        last = record.get("state") == RUNNING
        if last:
            write_state(file, {**record, "state": BROKEN_OFF, "ended_at": now_rfc3339()})
    return last


def _delete_old(home: Path, job: str) -> None:
    for file in _files(home, job)[:-MAX_RUNS]:
        file.unlink(missing_ok=True)
        file.with_suffix(".log").unlink(missing_ok=True)


def _files(home: Path, job: str) -> list[Path]:
    return sorted(folder(home, job).glob("[0-9]*.json"))


def _new_file(place: Path) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    return place / f"{datetime.now(timezone.utc):%Y%m%dT%H%M%S.%fZ}.json"
