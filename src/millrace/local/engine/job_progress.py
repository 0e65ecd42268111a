"""Shows the progress of a job that catches up: rows, rate and time left."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from lakehouse.run.job import JobListener

_UNKNOWN = "?"


class _Pace:
    """Rows done and total, with rate and time left."""

    def __init__(self) -> None:
        self.done = 0
        self.total = 0
        self._started = time.monotonic()

    def end(self) -> None:
        """Set the total to the rows done: it was an estimate, since transactions leave gaps in offsets."""
        self.total = self.done

    def __str__(self) -> str:
        seconds = max(time.monotonic() - self._started, 1e-3)
        rate = self.done / seconds
        left = f"{(self.total - self.done) / rate:.0f} s left" if rate and self.done < self.total else ""
        known = f"{self.total:,}" if self.total else _UNKNOWN
        of = "" if self.done == self.total else f" of {known}"
        return f"{self.done:,}{of} rows  {rate:,.0f}/s  {left}".rstrip()


class _Lines(JobListener):
    """One line per micro-batch, for a log."""

    def __init__(self, job: str, console: Console) -> None:
        self._job = job
        self._console = console
        self._pace = _Pace()

    def end(self) -> None:
        """Print the final number of rows if it differs from the estimate."""
        if self._pace.done != self._pace.total:
            self._pace.end()
            self._console.print(f"{self._job}: {self._pace}")

    def report_backlog(self, job: str, rows: int) -> None:
        self._pace.total = max(self._pace.total, self._pace.done + rows)

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        self._pace.done += rows
        self._console.print(f"{job}: {self._pace}  (batch of {rows:,} in {seconds:.1f} s)")

    def log(self, job: str, line: str) -> None:
        self._console.print(f"{job}: {line}")


class _Bar(JobListener):
    """A progress bar, for a terminal."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._pace = _Pace()

    def end(self) -> None:
        """Fill the bar."""
        self._pace.end()
        done = self._pace.done
        self._progress.update(self._task, total=max(done, 1), completed=max(done, 1), pace=str(self._pace))

    def report_backlog(self, job: str, rows: int) -> None:
        self._pace.total = max(self._pace.total, self._pace.done + rows)
        self._progress.update(self._task, total=self._pace.total, pace=str(self._pace))

    def report_batch(self, job: str, rows: int, seconds: float) -> None:
        self._pace.done += rows
        self._progress.update(self._task, completed=self._pace.done, pace=str(self._pace))

    def log(self, job: str, line: str) -> None:
        self._progress.console.print(f"{job}: {line}")


@contextmanager
def console_watcher(job: str) -> Iterator[JobListener]:
    """A listener that shows a job's progress on standard error."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    if not sys.stderr.isatty():
        lines = _Lines(job, console)
        yield lines
        lines.end()
        return
    columns = (TextColumn(f"{job:<8}"), BarColumn(), TextColumn("{task.fields[pace]}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = _Bar(progress, progress.add_task(job, total=None, pace="waiting for the first batch"))
        yield bar
        bar.end()
