"""The tasks of query processes: to open a query, and to run it again."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from multiprocessing.connection import Connection
from typing import Any

import psutil
import pyarrow as pa

from lakehouse.access.role import Role
from lakehouse.delta.sql_views import in_utc
from lakehouse.errors import MillraceError
from lakehouse.readers.versioned_tables import VersionedTables, latest_versions
from lakehouse.rows.duckdb_sql import connect
from serving.admission import StandingText, admit
from serving.processes.ended import Ended
from serving.processes.shares import LOWEST
from serving.query_limits import QueryLimits, QueryRunner, Spill
from serving.sources.query_result import Part, result_parts

_QUICK_SECONDS = 0.25
"""Processor time after which a query gives way to all others (s)."""
_LOOK_SECONDS = 0.05
_SLACK_SECONDS = 5.0
_OVERHEAD = 24 << 20
"""Bytes of a process in addition to DuckDB's: code, and rows on their way into and out of DuckDB."""


_connections: list[Any] = []
"""A connection that was opened before this process was forked, which takes longer than most queries."""
_used: list[Any] = []
"""That connection, so that it is not freed."""


def opened(
    limits: QueryLimits, spill: Spill, tables: VersionedTables, sql: str, role: Role | None
) -> Iterator[object]:
    """The admitted query, the latest versions of its tables, and its result at these, if they all exist."""
    query = admit(sql, role)
    yield query
    versions = latest_versions(tables, query.tables, None)
    yield versions or {}
    if versions is not None:
        yield from computed(limits, spill, tables, query, versions, role)


def computed(
    limits: QueryLimits,
    spill: Spill,
    tables: VersionedTables,
    query: StandingText,
    versions: Mapping[str, int],
    role: Role | None,
) -> Iterator[list[str] | Part]:
    """The columns of the result, then its rows in parts."""
    yield from result_parts(tables, query, versions, role, QueryRunner(limits, spill, _opened))


def _opened() -> AbstractContextManager[Any]:
    """The connection from before the fork, or a new one.

    The former is not closed: that would free thousands of objects of DuckDB, whose pages would be copied
    first, and the process ends soon.
    """
    if not _connections:
        return closing(connect())
    _used.append(_connections.pop())
    return nullcontext(_used[-1])


TASKS: Mapping[str, Callable[..., Iterator[object]]] = {"open": opened, "compute": computed}


def warm_up() -> None:
    """Do once what each process would do first, without a thread of DuckDB."""
    admit("SELECT count(*) AS n FROM gold.funnel")
    connection = connect(has_threads=False)
    rows = pa.table({"n": pa.array([0], pa.int64()), "t": pa.array([None], pa.timestamp("us", "UTC"))})
    connection.register("r", rows)
    connection.sql(f"SELECT {in_utc(rows.schema)} FROM r").to_arrow_reader(1).read_all().to_pylist()
    connection.unregister("r")
    _connections.append(connection)


def serve(connection: Connection) -> None:
    """Receive a task: name, arguments, limits, spill, niceness. Send its items, then `Ended`."""
    since = time.process_time()
    name, arguments, limits, spill, nice = connection.recv()
    _set_priority(nice)
    signal.setitimer(signal.ITIMER_REAL, limits.seconds + _SLACK_SECONDS)  # SIGALRM ends the process
    threading.Thread(target=_watch, args=(connection, limits), daemon=True).start()
    error = None
    try:
        for item in TASKS[name](limits, spill, *arguments):
            connection.send(item)
    except MillraceError as found:
        error = (found.problem, found.next_step)
    except RecursionError:
        error = ("the query is nested too deeply", "Write it with fewer parentheses and terms")
    except MemoryError:
        error = _too_large(limits)
    connection.send(Ended(time.process_time() - since, error))


def _watch(connection: Connection, limits: QueryLimits) -> None:
    """End the process if its reader has gone or it takes too much memory, and lower its priority in time."""
    since, before, gives_way = time.process_time(), _memory(), False
    while True:
        if connection.poll(_LOOK_SECONDS):  # only its end can come
            os._exit(0)
        if _memory() - before > limits.memory + _OVERHEAD:
            connection.send(Ended(time.process_time() - since, _too_large(limits)))
            os._exit(0)
        if not gives_way and time.process_time() - since > _QUICK_SECONDS:
            gives_way = True
            _set_priority(LOWEST)


def _set_priority(nice: int) -> None:
    """Set the niceness of the main thread. With the last one, it runs only while no other needs the core.

    By niceness alone, others would wait some milliseconds for it each time they wake up.
    """
    if nice == LOWEST and sys.platform == "linux":
        os.sched_setscheduler(os.getpid(), os.SCHED_IDLE, os.sched_param(0))
    else:
        os.setpriority(os.PRIO_PROCESS, os.getpid(), nice)


def _memory() -> int:
    """Bytes of this process in memory, without those of files, on Linux."""
    found = psutil.Process().memory_info()
    return int(found.rss - getattr(found, "shared", 0))


def _too_large(limits: QueryLimits) -> tuple[str, str]:
    return f"the query needs more than {limits.memory >> 20:,} MiB of memory", "Group or filter it"
