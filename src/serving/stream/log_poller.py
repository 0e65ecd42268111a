"""Polls the logs of followed tables, once for all channels."""

import threading
from collections.abc import Iterable

from lakehouse.readers.versioned_tables import VersionedTables

_State = tuple[int, int] | str
"""Version and time of writing of a table's last commit; the error, if it can't be read."""


class LogPoller:
    """A thread that notifies channels of commits to their tables.

    Args:
        tables: the tables.
    """

    def __init__(self, tables: VersionedTables) -> None:
        self._tables = tables
        self._lock = threading.Lock()
        self._followers: dict[threading.Event, frozenset[str]] = {}
        self._states: dict[str, _State] = {}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, names: Iterable[str], changed: threading.Event) -> None:
        """Set an event now, and at each commit to one of the tables."""
        with self._lock:
            self._followers[changed] = frozenset(names)
            if self._thread is None:
                self._thread = threading.Thread(target=self._poll, daemon=True)
                self._thread.start()
        changed.set()

    def leave(self, changed: threading.Event) -> None:
        """Set the event for the last time."""
        with self._lock:
            self._followers.pop(changed, None)
        changed.set()

    def stop(self) -> None:
        """End the thread, without waiting for it."""
        self._stopping.set()

    def _poll(self) -> None:
        while not self._stopping.wait(self._tables.poll_seconds):
            with self._lock:
                names = frozenset[str]().union(*self._followers.values())
            states = {name: self._state(name) for name in names}
            changed = {name for name, state in states.items() if state != self._states.get(name)}
            self._states = states
            with self._lock:
                waiting = [event for event, tables in self._followers.items() if tables & changed]
            for event in waiting:
                event.set()

    def _state(self, name: str) -> _State:
        before = self._states.get(name)
        try:
            version = self._tables.latest_version(name, before[0] if isinstance(before, tuple) else -1)
            return version, self._tables.written_at(name, version)
        except Exception as error:  # noqa: BLE001 - the channel reports it when it reads the table
            return repr(error)
