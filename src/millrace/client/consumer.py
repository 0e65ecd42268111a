"""A consumer whose effects and position change in one transaction."""

import logging
import os
import random
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from uuid import uuid4

from millrace.client.change_group import Group
from millrace.client.event_stream import Stream
from millrace.client.lease import renewed
from millrace.client.position_store import (
    Connection,
    Cursor,
    FencedError,
    PositionStore,
    StoredPosition,
)

_LOG = logging.getLogger("millrace.client")

Apply = Callable[[Cursor, Group], None]
"""Applies a group with statements in the cursor's transaction, without a commit."""


class Consumer:
    """Applies each group of a stream to a database exactly once.

    Several consumers with the same name may run: one leads, the others stand by. When the leader ends or is
    paused, another one takes over after the lease.

    Args:
        store: the database.
        name: name of the consumer, under which its position is stored.
        stream: the table or query to follow.
        lease: seconds after which a stand-by takes over. In Postgres also the longest time for which `apply`
            may leave its transaction without a statement.
    """

    def __init__(self, store: PositionStore, name: str, stream: Stream, lease: float = 10.0) -> None:
        self._store = store
        self._name = name
        self._stream = stream
        self._lease = lease
        self._leader = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:12]}"
        self._stop = threading.Event()

    def run(self, apply: Apply) -> None:
        """Apply groups until `stop` is called, or the process ends, which is safe at any moment.

        Transient database errors are logged, and the group is applied again. A group without changes only
        moves the position.

        Args:
            apply: applies the changes of a group. If it raises an exception, the transaction is rolled
                back, and the exception ends the run. It may be called again with the same group, each time
                in a new transaction.

        Raises:
            MillraceError: if a server refuses, or a consumer with this name follows something else.
        """
        try:
            while not self._stop.is_set():
                self._try_to_run(apply)
        finally:
            self._stop.clear()

    def stop(self) -> None:
        """End `run` after the current group, or at the next message, within 15 s."""
        self._stop.set()

    def restart(self) -> None:
        """Delete the position, so that the next group is a reset with all rows."""
        with closing(self._store.connect(self._lease)) as connection:
            self._store.forget(connection, self._name, self._stream.content)

    def _try_to_run(self, apply: Apply) -> None:
        """Run until the lease is lost, or a transient database error."""
        try:
            with closing(self._store.connect(self._lease)) as connection:
                self._store.prepare(connection, self._name, self._stream.content)
                self._run(connection, apply)
        except FencedError:
            _LOG.warning("Another consumer %s has taken over", self._name)
        except Exception as error:
            if not self._store.is_transient(error):
                raise
            _LOG.warning("Consumer %s tries again: %s", self._name, error)
            self._stop.wait(random.uniform(0.1, 1))

    def _run(self, connection: Connection, apply: Apply) -> None:
        """Wait for the lease, then apply groups while this consumer holds it."""
        while (stored := self._lead(connection)) is None:
            if self._stop.is_set():
                return
            self._stop.wait(self._lease * random.uniform(0.1, 0.3))
        try:
            with (
                renewed(self._store, self._name, self._leader, self._lease),
                closing(self._stream.groups(stored.position, self._stop)) as groups,
            ):
                for group in groups:
                    stored = self._apply(connection, stored, group, apply)
                    if self._stop.is_set():
                        return
        finally:
            with suppress(Exception):  # it expires
                self._store.release(connection, self._name, self._leader)

    def _lead(self, connection: Connection) -> StoredPosition | None:
        return self._store.lead(connection, self._name, self._leader, self._lease)

    def _apply(
        self, connection: Connection, stored: StoredPosition, group: Group, apply: Apply
    ) -> StoredPosition:
        """Apply a group and move the position, in one transaction. Returns the new position."""
        if group.position == stored.position and not group.reset and not group.row_changes:
            return stored  # a heartbeat
        key = group.key if group.key is not None else stored.key
        moved = StoredPosition(group.position, key, stored.applied + 1)
        seen = Group(group.reset, key, group.row_changes, group.position, group.versions, group.committed_at)
        with self._store.moving(connection, self._name, self._leader, stored, moved, self._lease) as cursor:
            if group.reset or group.row_changes:
                apply(cursor, seen)
        return moved
