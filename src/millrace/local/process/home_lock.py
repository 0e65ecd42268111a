"""Locks of a home: one workspace per home, and services that run beside it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from lakehouse.errors import MillraceError
from millrace.local.process import process_registry

SUPERVISOR = "supervisor"
_WORKSPACE = "workspace.lock"
_DRAIN_SECONDS = 15.0
"""Time that a service may take to end after it has closed its port."""

_PROBE_SECONDS = 0.5
"""Timeout of the lock: longer than other processes hold it to check whether it is free."""


@contextmanager
def workspace_lock(home: Path) -> Iterator[None]:
    """Hold the lock of a home during the block.

    The operating system releases the lock when its holder dies for any reason.

    Raises:
        MillraceError: if another process holds it.
    """
    with _locked(home, _WORKSPACE, lambda: already_running(home), _PROBE_SECONDS):
        yield


@contextmanager
def service_lock(home: Path, name: str, seconds: float = _DRAIN_SECONDS) -> Iterator[None]:
    """Hold `run/NAME.lock` during the block, for a service that may run without a workspace.

    Args:
        home: the folder of all local state.
        name: name of the service and its port, as `collect-8787`.
        seconds: how long to wait for a process of that name that is about to end.

    Raises:
        MillraceError: if another process holds it.
    """
    with _locked(home, f"{name}.lock", lambda: _in_use(home, name), seconds):
        yield


def require_idle(home: Path) -> None:
    """Check that no job and no service of a home runs. The lock of the workspace is not checked.

    Raises:
        MillraceError: if one runs.
    """
    for file in sorted((home / "run").glob("*.lock")):
        if file.name != _WORKSPACE:
            with service_lock(home, file.stem, _PROBE_SECONDS):
                pass


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


def _in_use(home: Path, name: str) -> MillraceError:
    what = "jobs are running" if name == "engine" else f"{name} is running"
    return MillraceError(f"{what} in {home}", "Stop it, or wait until it has ended, and try again")


@contextmanager
def _locked(home: Path, name: str, taken: Callable[[], MillraceError], seconds: float) -> Iterator[None]:
    (home / "run").mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "run" / name)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise taken() from None
    try:
        yield
    finally:
        lock.release()
