"""The open channels: one for each role and table or query."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from lakehouse.access.role import Role
from lakehouse.readers.positions import snapshot_versions
from lakehouse.readers.versioned_tables import VersionedTables
from serving.processes.query_processes import QueryProcesses
from serving.query_limits import QueryLimits, TryLaterError
from serving.reader_budget import ReaderBudget
from serving.sources.query_source import QuerySource
from serving.sources.row_changes import Position
from serving.sources.row_filter import wanted_of
from serving.sources.shared_changes import SharedChanges
from serving.sources.source import Source
from serving.sources.table_source import TableSource, view_of
from serving.stream.byte_budget import ByteBudget
from serving.stream.channel import Channel
from serving.stream.fair_threads import FairThreads
from serving.stream.log_poller import LogPoller
from serving.stream.resume_token import Subject
from serving.stream.subscription import Subscription, Terms
from serving.stream.wanted import TOKEN_DIGITS, Wanted

_T = TypeVar("_T")
_THREADS = 64
_LOOK_SECONDS = 1.0
"""Seconds after which a channel reads its tables' logs, also if there was no commit."""
_LINGER_SECONDS = 30.0
"""Seconds for which a channel without subscribers stays open: they reconnect after a lost connection."""
_TOO_MANY_ROWS = (
    "the rows take more room than there is for you",
    "Read fewer columns or rows, with select and where, or try again when other rows have been sent",
)


@dataclass(frozen=True)
class Limits:
    """Limits of the hub.

    Args:
        channel_bytes: maximum bytes of changes that each channel keeps.
        kept_bytes: maximum bytes of changes and snapshots that all channels keep.
        shared_bytes: maximum bytes of unfiltered changes of all tables.
        channels: maximum number of channels. Each has a thread.
        channels_of_reader: maximum number of channels that one reader has opened.
        rows_bytes: maximum bytes of tables' rows that are being sent; most of them are on disk, compressed.
        rows_bytes_of_reader: those of one reader.
        queries: maximum number of standing queries at the same time.
        query: limits of each query.
    """

    channel_bytes: int = 16 << 20
    kept_bytes: int = 64 << 20
    shared_bytes: int = 32 << 20
    channels: int = 256
    channels_of_reader: int = 32
    rows_bytes: int = 1 << 30
    rows_bytes_of_reader: int = 256 << 20
    queries: int = 32
    query: QueryLimits = field(default_factory=QueryLimits)


class Hub:
    """Opens one channel for each followed table or query, and closes unused channels.

    Args:
        tables: the tables.
        limits: limits of memory and queries.
        folder: for what is written to disk; None: in the system's folder of temporary files.
    """

    def __init__(self, tables: VersionedTables, limits: Limits, folder: Path | None = None) -> None:
        self._tables = tables
        self._limits = limits
        self._shared = SharedChanges(limits.shared_bytes)
        self._queries = QueryProcesses(limits.query, folder)
        self._query_threads = ThreadPoolExecutor(_THREADS, "query")
        self._table_threads = FairThreads()
        self._rows = ReaderBudget(limits.rows_bytes, limits.rows_bytes_of_reader, *_TOO_MANY_ROWS)
        self._kept = ByteBudget(limits.kept_bytes)
        self._poller = LogPoller(tables) if tables.is_local else None  # a catalog answers slowly
        self._channels: dict[str, Channel] = {}
        self._opened_by: dict[str, str] = {}
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def start(self) -> None:
        """Prepare for queries."""
        self._queries.start()

    async def channel(self, wanted: Wanted, role: Role, reader: str = "") -> Channel:
        """The channel of a table or query. It is closed some time after its last subscriber has left.

        Args:
            wanted: the table or query.
            role: role of the reader.
            reader: name of the reader.

        Raises:
            TryLaterError: if there are too many channels.
            MillraceError: if it can't be followed.
        """
        key = wanted.digest(role)
        async with self._opening.setdefault(key, asyncio.Lock()):
            if key not in self._channels:
                self._require_room(reader)
                source = await self.open_source(wanted, role, reader)
                self._channels[key] = Channel(
                    source,
                    key[:TOKEN_DIGITS],
                    self._limits.channel_bytes,
                    self._tables.poll_seconds if self._poller is None else _LOOK_SECONDS,
                    self._kept,
                    self._poller,
                    self._table_threads if wanted.sql is None else None,
                )
                self._opened_by[key] = reader
                self._close_later(key)
        channel = self._channels[key]
        channel.attendance.renew()
        return channel

    async def subscribe(
        self, wanted: Wanted, role: Role, after: str | None, terms: Terms, reader: str = ""
    ) -> Subscription:
        """A subscription to a table or query.

        Args:
            wanted: the table or query.
            role: role of the reader.
            after: resume token; None: begin with a snapshot.
            terms: settings of the subscription.
            reader: name of the reader.

        Raises:
            MillraceError: if it can't be followed, or the token can't be parsed.
        """
        return Subscription(await self.channel(wanted, role, reader), after, terms, reader)

    @property
    def channels(self) -> int:
        """Number of open channels."""
        return len(self._channels)

    async def open_source(self, wanted: Wanted, role: Role, reader: str = "") -> Source:
        """The source of a table or query, see `source`."""
        return await self._in_thread(wanted, self.source, wanted, role, reader)

    async def read(self, wanted: Wanted, reader: str, call: Callable[..., _T], *arguments: Any) -> _T:
        """Call a function that reads rows for a reader, in a thread. Few read tables at the same time."""
        if wanted.sql is None:
            return await self._table_threads.run(reader, call, *arguments)
        return await self._in_thread(wanted, call, *arguments)

    async def _in_thread(self, wanted: Wanted, call: Callable[..., _T], *arguments: Any) -> _T:
        """Call a function in a thread. Queries that wait for their turn hold no thread of tables."""
        threads = self._query_threads if wanted.sql is not None else None
        return await asyncio.get_running_loop().run_in_executor(threads, call, *arguments)

    def source(self, wanted: Wanted, role: Role, reader: str = "") -> Source:
        """The source of a table or query as a role sees it.

        Raises:
            TryLaterError: if there are too many queries, in total or of the reader.
            MillraceError: if the table does not exist, or the query is not admitted.
        """
        if wanted.sql is not None:
            standing = sum(isinstance(each.source, QuerySource) for each in self._channels.values())
            if standing >= self._limits.queries:
                raise TryLaterError("too many standing queries", "Try again later, or subscribe to a table")
            opened = self._queries.open(self._tables, wanted.sql, role, reader)
            return QuerySource(self._tables, opened.query, role, self._queries, reader, opened)
        view = view_of(role, wanted.table or "")
        narrowed = wanted_of(view, wanted.where, wanted.select)
        folder = self._queries.folder()
        return TableSource(self._tables, view, narrowed, self._shared, budget=self._rows, folder=folder)

    def position_of(self, source: Source, as_of: str | None) -> Position | None:
        """The position to read first, or as of a position; None while a table is missing.

        Raises:
            MillraceError: if the tables can't be read as of it.
        """
        return source.first() if as_of is None else snapshot_versions(self._tables, as_of, source.tables)

    def subject(self, wanted: Wanted, role: Role, source: Source) -> Subject:
        """The content of a source's resume tokens."""
        return Subject(wanted.digest(role)[:TOKEN_DIGITS], source.key, source.identities())

    def stop(self) -> None:
        """Stop all channels."""
        for channel in self._channels.values():
            channel.stop()
        self._channels.clear()
        self._opened_by.clear()
        if self._poller is not None:
            self._poller.stop()
        self._query_threads.shutdown(wait=False, cancel_futures=True)
        self._queries.stop()

    def _require_room(self, reader: str) -> None:
        """Raise a TryLaterError if there are too many channels, of this reader or of all."""
        own = sum(each == reader for each in self._opened_by.values())
        if len(self._channels) >= self._limits.channels or own >= self._limits.channels_of_reader:
            raise TryLaterError(
                "too many tables, queries and conditions are followed",
                "End a subscription, or try again later",
            )

    def _close_later(self, key: str) -> None:
        asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._close_unused, key)

    def _close_unused(self, key: str) -> None:
        channel = self._channels.get(key)
        if channel is None:
            return
        if channel.attendance.is_used(_LINGER_SECONDS):
            self._close_later(key)
            return
        channel.stop()
        del self._channels[key], self._opened_by[key]
