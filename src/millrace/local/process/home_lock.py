"""The lock of a home: one workspace per home."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lakehouse.errors import MillraceError
from millrace.local.process import process_registry

SUPERVISOR = "supervisor"
_PROBE_SECONDS = 0.5
"""Timeout of the lock: longer than other processes hold it to check whether it is free."""


@contextmanager
def workspace_lock(home: Path) -> Iterator[None]:
    """Hold the lock of a home during the block.

    The operating system releases the lock when its holder dies for any reason.

    Raises:
        MillraceError: if another process holds it.
    """
    (home / "run").mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "run" / "workspace.lock")
    try:
        lock.acquire(timeout=_PROBE_SECONDS)
    except Timeout:
        raise already_running(home) from None
    try:
        yield
    finally:
        lock.release()


def supervisor_pid(home: Path) -> int | None:
    """The process id of the home's supervisor; None if none runs."""
    process = process_registry.running(home, SUPERVISOR)
    return process.pid if process else None


def already_running(home: Path) -> MillraceError:
    """The error for a workspace that is in use."""
    pid = supervisor_pid(home)
    who = f" (pid {pid})" if pid else ""
    return MillraceError(
        f"Millrace is already running in {home}{who}",
        "See it with `millrace status`, or stop it first with `millrace down`",
    )
