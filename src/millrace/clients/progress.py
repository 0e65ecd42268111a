"""How far a client is: a bar on a terminal, nothing where nobody watches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class Bar(Protocol):
    """Moves the bar."""

    def __call__(self, done: int, records: int) -> None:
        """Show how much of the total is done, and how many records are confirmed."""


@contextmanager
def progress_bar(title: str, total: int | None) -> Iterator[Bar]:
    """A bar on standard error while inside, if that is a terminal.

    Args:
        title: what is going on.
        total: of what `done` counts (bytes, records); None if unknown.
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
