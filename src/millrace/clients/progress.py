"""Progress of a client: a bar on a terminal, otherwise nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class Bar(Protocol):
    """A function that updates the progress bar."""

    def __call__(self, done: int, records: int) -> None:
        """Show the completed part of the total, and the number of confirmed records."""


@contextmanager
def progress_bar(title: str, total: int | None) -> Iterator[Bar]:
    """A progress bar on standard error during the block, if that is a terminal.

    Args:
        title: description of the task.
        total: total in the unit of `done` (bytes, records); None if unknown.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[records]:,} records"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=total, records=0)

        def move(done: int, records: int) -> None:
            progress.update(task, completed=done, records=records)

        yield move
