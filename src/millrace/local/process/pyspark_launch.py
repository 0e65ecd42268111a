"""Contains side effects of starting PySpark on this process."""

import os
import signal
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil


@contextmanager
def output_to(path: Path) -> Iterator[None]:
    """Redirect standard output and error to a file, for child processes started in the block."""
    sys.stdout.flush()
    sys.stderr.flush()
    before = {stream: os.dup(stream) for stream in (1, 2)}
    with path.open("ab") as file:
        for stream in before:
            os.dup2(file.fileno(), stream)
    try:
        yield
    finally:
        for stream, copy in before.items():
            os.dup2(copy, stream)
            os.close(copy)


@contextmanager
def keep_sigint_handler() -> Iterator[None]:
    """Restore the SIGINT handler, which PySpark replaces with one that raises at any point."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def clean_up_on_failure() -> Iterator[None]:
    """Kill the processes that the block has started if it fails."""
    this = psutil.Process()
    before = set(this.children())
    try:
        yield
    except BaseException:
        for process in set(this.children(recursive=True)) - before:
            with suppress(psutil.Error):
                process.kill()
        raise


def keep_quiet(server: socketserver.BaseServer | None) -> None:
    """Suppress the stack trace of PySpark's server when Java ends, which is reported in one line."""
    if server is not None:
        vars(server)["handle_error"] = lambda *_: None
