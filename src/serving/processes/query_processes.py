"""Runs each query in a process of its own, within the limits of its reader."""

import time
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from lakehouse.access.role import Role
from lakehouse.errors import MillraceError
from lakehouse.readers.versioned_tables import VersionedTables
from serving.admission import StandingText
from serving.processes.ended import Ended
from serving.processes.fork_server import ForkServer
from serving.processes.query_tasks import TASKS
from serving.processes.result import Result
from serving.processes.shares import LOWEST, Shares
from serving.processes.spill import SpillFolders
from serving.processes.turns import Turns
from serving.query_limits import QueryLimits
from serving.reader_budget import ReaderBudget

_ENDED = MillraceError("the query was ended, since it took too long or too much memory", "Group or filter it")


class Opened(NamedTuple):
    """A query with its first result.

    Args:
        query: the query.
        versions: versions of its tables; None if one does not exist.
        result: its result at these versions; empty without them.
    """

    query: StandingText
    versions: dict[str, int] | None
    result: Result


class QueryProcesses:
    """Runs queries.

    Args:
        limits: the limits of queries and readers.
        folder: for what queries write to disk; None: in the system's folder of temporary files.
    """

    def __init__(self, limits: QueryLimits, folder: Path | None = None) -> None:
        self._limits = limits
        self._turns = Turns(limits)
        self._shares = Shares()
        self._kept = ReaderBudget(
            limits.kept_bytes,
            limits.kept_bytes_of_reader,
            "the results of other queries are still being read",
        )
        self._forks = ForkServer()
        self._spills = SpillFolders(limits, folder)
        self._ending = ThreadPoolExecutor(limits.at_once, "ending")

    def start(self) -> None:
        """Prepare for queries, so that the first one is not slow."""
        self._spills.start()
        self._forks.start()

    def folder(self) -> Path:
        """The folder for what this server writes to disk, which is removed when it stops."""
        return self._spills.start()

    def stop(self) -> None:
        """End the processes."""
        self._ending.shutdown()
        self._forks.stop()
        self._spills.stop()

    def open(self, tables: VersionedTables, sql: str, role: Role | None, reader: str) -> Opened:
        """An admitted query with its result, see `serving.admission`.

        Raises:
            TryLaterError: if the reader has no turn, or there is no memory for the result.
            MillraceError: if the query is not admitted, fails or exceeds a limit.
        """
        with self._running("open", reader, tables, sql, role) as items:
            query, versions = next(items), next(items)
            return Opened(query, versions or None, self._result(items, reader))

    def compute(
        self,
        tables: VersionedTables,
        query: StandingText,
        versions: Mapping[str, int],
        role: Role | None,
        reader: str,
    ) -> Result:
        """The result of a query at versions of its tables.

        Raises:
            TryLaterError: if the reader has no turn, or there is no memory for the result.
            MillraceError: if the query fails or exceeds a limit, or a version can't be read any more.
        """
        with self._running("compute", reader, tables, query, versions, role) as items:
            return self._result(items, reader)

    def _result(self, items: Iterator[Any], reader: str) -> Result:
        return Result(items, self._kept, reader, self.folder())

    @contextmanager
    def _running(
        self, task: str, reader: str, tables: VersionedTables, *arguments: Any
    ) -> Iterator[Iterator[Any]]:
        """The items of a task. If it fails, its process has ended after the block, else soon."""
        with ExitStack() as held:
            gives_way = held.enter_context(self._turns.turn(reader))
            spill = held.enter_context(self._spills.folder())
            if not tables.is_local:  # a process of its own would open a connection to the catalog each time
                yield TASKS[task](self._limits, spill, tables, *arguments)
                return
            nice = LOWEST if gives_way else self._shares.nice(reader)
            content = (task, (tables, *arguments), self._limits, spill, nice)
            try:
                connection = held.enter_context(self._forks.fork())
            except OSError:
                raise _ENDED from None
            with closing(self._received(connection, reader, content)) as items:
                yield items
            self._ending.submit(held.pop_all().close)  # the answer does not wait for the end of the process

    def _received(
        self, connection: Connection, reader: str, content: tuple[Any, ...]
    ) -> Generator[Any, None, None]:
        """Run a task in a process of its own, see `query_tasks.serve`."""
        item: Any = None
        since = time.monotonic()
        try:
            connection.send(content)
            while not isinstance(item := connection.recv(), Ended):
                yield item
        except (EOFError, OSError):
            raise _ENDED from None
        finally:
            spent = item.seconds if isinstance(item, Ended) else time.monotonic() - since
            self._shares.add(reader, spent)
        if item.error is not None:
            raise MillraceError(*item.error)
