"""Downloads the jars with progress: a bar on a terminal, lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from lakehouse.errors import MillraceError
from millrace.environment import jars
from millrace.environment.jar_lock import cache_folder

_MEGABYTE = 1_000_000  # bytes
_LINES = 10


def fetch_jars() -> None:
    """Download the jars of the lock into the cache, with progress.

    Raises:
        MillraceError: if a jar can't be downloaded, or does not match the lock.
    """
    console = Console()
    with _bar(console) if console.is_terminal else _lines(console) as report:
        jars.ensure_jars(report)


@contextmanager
def _bar(console: Console) -> Iterator[jars.Progress]:
    columns = (TextColumn("Jars"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.description}"), console=console) as progress:
        task = progress.add_task("looking up jars", total=None, visible=False)

        def report(text: str, done: int, total: int) -> None:
            progress.update(task, description=text, completed=done, total=total, visible=True)

        yield report
        if progress.tasks[task].visible:
            progress.update(task, description=f"in {cache_folder()}", completed=progress.tasks[task].total)


@contextmanager
def _lines(console: Console) -> Iterator[jars.Progress]:
    def say(text: str) -> None:
        console.print(text, highlight=False, soft_wrap=True)

    reported = -1

    def report(_text: str, done: int, total: int) -> None:
        nonlocal reported
        if reported < 0:
            say(f"Fetching the jars of jars.lock, {total / _MEGABYTE:.1f} MB")
        if done * _LINES // total > reported:
            reported = done * _LINES // total
            if done:
                say(f"  {done / _MEGABYTE:4.1f} of {total / _MEGABYTE:.1f} MB")

    yield report
    if reported >= 0:
        say(f"The jars are in {cache_folder()}")


def main() -> None:
    """Download the jars; print an error in one line."""
    try:
        fetch_jars()
    except MillraceError as error:
        sys.exit(f"setup: {error}")
    except KeyboardInterrupt:
        sys.exit("setup: broken off. Run `make setup` again, which goes on where this stopped.")


if __name__ == "__main__":
    main()
