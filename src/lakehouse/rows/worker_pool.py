"""A pool of worker processes for folds of many rows on the driver: one per core, started on first use."""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from mmap import ACCESS_READ, mmap
from multiprocessing import parent_process, resource_sharer
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.reduction import DupFd, ForkingPickler
from multiprocessing.util import get_temp_dir
from tempfile import TemporaryFile
from types import ModuleType
from typing import Any, NoReturn, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.rows.garbage import expect_many_rows

T = TypeVar("T")
R = TypeVar("R")

_ROWS_OF_A_PART = 10_000
"""Rows per process. A second process pays off from twice as many rows on: docs/decisions/0027."""

_MOST_PARTS = 8
_MAX_WAIT = 10.0  # seconds
_MAIN = threading.Lock()
_POOL = threading.Lock()
_pools: list[ProcessPoolExecutor] = []
"""The pool, if it has been started."""


def count_parts(rows: int) -> int:
    """Number of processes for a number of rows; 1 means this process."""
    return max(1, min(rows // _ROWS_OF_A_PART, _cores(), _MOST_PARTS))


def map_parts(function: Callable[[T], R], parts: Sequence[T]) -> list[R]:
    """Call a function with each part, in worker processes; a single part runs in this process.

    Args:
        function: a module-level function. It is pickled, and so are the parts.
        parts: at least one.

    Raises:
        BrokenProcessPool: if a worker was killed, for example by the OOM killer.
    """
    if len(parts) == 1:
        return [function(parts[0])]
    pool = _pool()
    try:
        return list(pool.map(function, parts))
    except BrokenProcessPool:  # a worker was killed; the next call starts a new pool
        _discard(pool)
        raise


def split_by_key(tables: Mapping[str, pa.Table], key: str, parts: int) -> list[dict[str, pa.Table]]:
    """Rows of tables in parts; rows with the same key are in the same part.

    Args:
        tables: tables by name; the key has the same type in all.
        key: name of the key column.
        parts: number of parts.
    """
    if parts == 1:
        return [dict(tables)]
    chunks = [chunk for table in tables.values() for chunk in table[key].chunks]
    keys = pc.unique(pa.chunked_array(chunks, next(iter(tables.values()))[key].type))
    split: list[dict[str, pa.Table]] = [{} for _ in range(parts)]
    for name, table in tables.items():
        numbers = pc.index_in(table[key], keys).to_numpy() % parts
        for number, part in enumerate(split):
            part[name] = table.filter(pa.array(numbers == number))
    return split


def exit_at_once(code: int) -> NoReturn:
    """End this process without its threads; the pool leaves nothing in the temporary folder."""
    if _pools or parent_process():
        shutil.rmtree(get_temp_dir(), ignore_errors=True)  # sockets for shared memory
    os._exit(code)


def _pool() -> ProcessPoolExecutor:
    """Spawned processes: a fork would inherit locks that other threads hold."""
    with _POOL:
        if not _pools:
            most = min(_cores(), _MOST_PARTS)
            _pools.append(ProcessPoolExecutor(most, _Context(), initializer=_start_worker))
        return _pools[0]


def _discard(broken: ProcessPoolExecutor) -> None:
    """Free the rows that no worker has taken, unless another thread has done so and started a new pool."""
    with _POOL:
        if broken in _pools:
            ending = threading.Thread(target=broken.shutdown, daemon=True)
            ending.start()  # it waits for the thread that shares rows, in Python 3.10 possibly forever
            ending.join(_MAX_WAIT)
            _pools.clear()
            resource_sharer.stop()


def _as_stream(table: pa.Table) -> tuple[Callable[..., pa.Table], tuple[object]]:
    """A table as an Arrow stream in memory that is freed when no process uses it any more.

    Arrow would pickle a slice with all rows of its table.
    """
    file = _shared_memory()
    try:
        sink = pa.PythonFile(os.fdopen(file, "wb", buffering=0, closefd=False), "w")
        with sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return _read_stream, (DupFd(file),)
    finally:
        os.close(file)


def _shared_memory() -> int:
    """A file in memory if the system supports it, else a temporary file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rows")
    with TemporaryFile() as file:
        return os.dup(file.fileno())


def _read_stream(shared: Any) -> pa.Table:
    file = shared.detach()
    try:
        return pa.ipc.open_stream(pa.py_buffer(mmap(file, 0, access=ACCESS_READ))).read_all()
    finally:
        os.close(file)


ForkingPickler.register(pa.Table, _as_stream)


class _Process(SpawnProcess):
    """A spawned process that does not run the program's main module again."""

    def start(self) -> None:
        with _MAIN:
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                super().start()
            finally:
                sys.modules["__main__"] = main


class _Context(SpawnContext):
    Process = _Process


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_worker() -> None:
    """Initialise a worker: it ignores SIGINT, and exits when its parent does."""
    expect_many_rows()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := parent_process():
        wait([parent.sentinel])
        exit_at_once(1)
