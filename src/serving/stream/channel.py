"""Follows a source once for all its subscribers, and keeps its last changes within a memory budget.

Without subscribers it reads nothing: a query is not computed for nobody. It goes on when the next one comes.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from lakehouse.errors import MillraceError
from serving.query_limits import TryLaterError
from serving.sources.row_changes import ChangeGroup, Position, PositionKey, is_ahead, position_key
from serving.sources.source import Source
from serving.stream.attendance import Attendance
from serving.stream.byte_budget import ByteBudget
from serving.stream.fair_threads import FairThreads
from serving.stream.log_poller import LogPoller
from serving.stream.messages import Published
from serving.stream.resume_token import Subject
from serving.stream.snapshots import Snapshots

_LOG = logging.getLogger("serving")
_RETRY_SECONDS = 1.0
_FEW_BYTES = 64 << 10
_LATEST = 8
"""Groups whose messages are kept: subscribers who take their messages in time need no earlier ones."""


class Channel:
    """Follows a source in a thread of its own. Public methods are for the thread of the event loop.

    Args:
        source: the source.
        digest: digest of the table or query, for resume tokens.
        most_bytes: maximum bytes of kept changes; older changes are read from the tables again.
        interval: seconds after which it reads the log, also without a notification.
        budget: bytes that it keeps together with other channels; None: no limit.
        poller: notifies it of commits; None: it polls by itself.
        threads: read the rows of snapshots; None: without limit.
    """

    def __init__(
        self,
        source: Source,
        digest: str,
        most_bytes: int,
        interval: float,
        budget: ByteBudget | None = None,
        poller: LogPoller | None = None,
        threads: FairThreads | None = None,
    ) -> None:
        self.source = source
        self.subject = Subject(digest, source.key, {})
        self._budget = budget or ByteBudget()
        self._threads = threads
        self.snapshots = Snapshots(source, self._budget, threads)
        self.generation = 0
        """Counts how often a table was recreated."""
        self.position: Position | None = None
        self.failure: MillraceError | None = None
        """Why the source can't be followed."""
        self.end = 0
        """Number of groups since the channel was opened."""
        self.bytes_ended = 0
        """Bytes of these groups."""
        self._kept: deque[Published] = deque()
        self._kept_bytes = 0
        self._first: Position | None = None
        self._places: dict[PositionKey, int] = {}
        self._most_bytes = most_bytes
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Future[None] = self._loop.create_future()
        self._written_at: tuple[int, ...] = ()
        self._stopping = threading.Event()
        self._changed = threading.Event()
        self.attendance = Attendance(self._changed)
        """Who follows the channel: it is kept for them, and reads nothing without them."""
        self._poller = poller
        if poller is not None:
            poller.follow(source.tables, self._changed)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    async def look_within(self, seconds: float) -> None:
        """Wait until the log was read since subscribers came, so that the position is not one before that."""
        arrival, until = self.attendance.arrivals, time.monotonic() + seconds
        while self.attendance.served < arrival and (left := until - time.monotonic()) > 0:
            await self.news_within(left)

    async def news_within(self, seconds: float) -> bool:
        """Wait for the next group, failure, recreated table or first look; False if there is none in time."""
        done, _ = await asyncio.wait({self._news}, timeout=seconds)
        return bool(done)

    def place_after(self, position: Position) -> int | None:
        """The number of the group after a position; None if it is not kept."""
        return self._places.get(position_key(position))

    def snapshot_place(self) -> tuple[Position, int]:
        """The position for a new snapshot, and the number of the group after it.

        It is the position of the cached snapshot if few rows have been added since. If one was changed or
        deleted, as rows of an erased person, the cached snapshot has what must not be sent again.
        """
        kept = self.snapshots.position
        place = None if kept is None else self.place_after(kept)
        if kept is not None and place is not None:
            since = [each.group for each in self.all_since(place)] if place < self.end else []
            are_inserts = all(row.before is None for group in since for row in group.rows)
            if are_inserts and sum(group.size for group in since) < _FEW_BYTES:
                return kept, place
        return self.position or {}, self.end

    def since(self, place: int) -> Published | None:
        """A group by number; None if it is no longer kept.

        Args:
            place: number of the group, less than `end`.
        """
        behind = self.end - place
        return self._kept[-behind] if behind <= len(self._kept) else None

    def all_since(self, place: int) -> list[Published]:
        """All kept groups from a number on."""
        return list(self._kept)[place - self.end :]

    def stop(self) -> None:
        """Stop the thread, without waiting for its end."""
        self._stopping.set()
        self._changed.set()
        if self._poller is not None:
            self._poller.leave(self._changed)
        self._forget()

    def _follow(self) -> None:
        position: Position | None = None
        while True:
            self._changed.wait(self._interval)
            self._changed.clear()
            if self._stopping.is_set():
                return
            if self.attendance.present:
                arrival = self.attendance.arrivals
                position = self._try_to_look(position)
                self._tell(self._has_looked, arrival)

    def _try_to_look(self, position: Position | None) -> Position | None:
        """Poll the source; on failure, report it and wait. Returns the position to continue from."""
        try:
            found = self._look(position)
        except MillraceError as error:
            found, failure = position if isinstance(error, TryLaterError) else None, error
        except Exception as error:  # noqa: BLE001 - subscribers wait, and the next poll may succeed
            found, failure = position, MillraceError(f"{type(error).__name__}: {error}", "It is tried again")
        else:
            if self.failure is not None and found is not None:
                self._tell(self._recover)
            return found
        self._tell(self._fail, failure.with_traceback(None))  # its frames have the channel, and its results
        self._stopping.wait(_RETRY_SECONDS)
        return found

    def _look(self, position: Position | None) -> Position | None:
        """Publish new groups. Returns the position after them."""
        latest = self.source.latest(position)
        if position is not None and (
            is_ahead(position, latest or {}) or self.source.written_at(position) != self._written_at
        ):
            raise MillraceError(f"{', '.join(self.source.tables)} was made again", "Begin with a snapshot")
        if latest is None or latest == position:
            return position
        written_at = self.source.written_at(latest)
        if position is None or min(position.values()) < 0 <= min(latest.values()):
            self._tell(self._begin, latest, self.source.identities())
        else:
            # All groups are read first: otherwise an error would cause earlier ones to be published twice.
            for group in [each.in_memory() for each in self.source.between(position, latest)]:
                self._tell(self._append, group)
        self._written_at = written_at
        return latest

    def _tell(self, call: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._unless_stopped, call, *arguments)

    def _unless_stopped(self, call: Callable[..., None], *arguments: object) -> None:
        if not self._stopping.is_set():
            call(*arguments)

    def _begin(self, position: Position, identities: dict[str, str]) -> None:
        self.generation += self.position is not None
        self.failure, self.position, self._first = None, position, position
        self.subject = replace(self.subject, key=self.source.key, identities=identities)
        self._forget()
        self.snapshots = Snapshots(self.source, self._budget, self._threads)
        self._places = {position_key(position): self.end}
        self._wake()

    def _forget(self) -> None:
        """Keep no snapshot and no groups."""
        self.snapshots.close()
        self._kept.clear()
        self._count(-self._kept_bytes)

    def _count(self, size: int) -> None:
        self._kept_bytes += size
        self._budget.used += size

    def _append(self, group: ChangeGroup) -> None:
        self.position = group.position
        self._kept.append(Published(group, self.subject))
        if len(self._kept) > _LATEST:
            self._kept[-_LATEST - 1].age()
        self.end += 1
        self.bytes_ended += group.size
        self._count(group.size)
        self._places[position_key(group.position)] = self.end
        while (self._kept_bytes > self._most_bytes or not self._budget.has_room()) and len(self._kept) > 1:
            gone = self._kept.popleft()
            self._count(-gone.group.size)
            if self._first is not None:
                self._places.pop(position_key(self._first), None)
            self._first = gone.group.position
        self._wake()

    def _fail(self, error: MillraceError) -> None:
        if self.failure is None:
            _LOG.warning("Cannot follow %s: %s", ", ".join(self.source.tables), error)
        self.failure = error
        self._wake()

    def _has_looked(self, arrival: int) -> None:
        if arrival > self.attendance.served:
            self.attendance.served = arrival
            self._wake()

    def _recover(self) -> None:
        self.failure = None

    def _wake(self) -> None:
        self._news.set_result(None)
        self._news = self._loop.create_future()
