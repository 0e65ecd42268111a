"""The log of reads: who read which version of a table, appended to ops.reads from a buffer."""

import atexit
import concurrent.futures.thread  # noqa: F401  pyarrow needs it, and at exit it is too late to import it
import getpass
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import READS
from lakehouse.delta.table_properties import default_properties, properties_of

if TYPE_CHECKING:
    from lakehouse.settings import Settings

_LOG = logging.getLogger("millrace.reads")
_INTERVAL_SECONDS = 10.0
_REPEAT_SECONDS = 3600.0
_MOST_ROWS = 10_000
"""Maximum number of rows in the buffer, and of reads remembered to detect repeats."""
_MOST_CHARACTERS = 1_000
_REMOVED_FILES, _LOG_ENTRIES = timedelta(days=7), timedelta(days=2)
"""Retention of a new table. Maintenance then sets that of removed files to the configured one."""

Way = Literal["api", "sql", "page"]
Write = Callable[[pa.Table], None]


class Reads(Protocol):
    """Records reads of tables."""

    def note(
        self,
        reader: str,
        role: str,
        way: Way,
        versions: Mapping[str, int],
        subject: str,
        rows: int | None = None,
    ) -> None:
        """Record that tables were read; never raises, and never waits for a disk.

        Args:
            reader: who read.
            role: name of the role that they read as.
            way: the interface that they used.
            versions: by table, the version that was read; -1 if the table did not exist.
            subject: the query, the table with its conditions, or the page's name.
            rows: of the result, if they were counted.
        """

    def close(self) -> None:
        """Write all recorded reads now."""


class ReadLog:
    """Buffers reads in memory, and appends them every ten seconds, on `close` and at exit.

    A process that is killed loses its buffer. A failed append is logged once and tried again; the buffer
    keeps the latest 10,000 rows. A repeated read of the same version is a row only once an hour.

    Args:
        write: appends rows of ops.reads.
        interval: seconds between two appends.
        clock: seconds.
    """

    def __init__(
        self,
        write: Write,
        interval: float = _INTERVAL_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._interval = interval
        self._clock = clock
        self._lock = threading.Lock()
        self._appending = threading.Lock()
        self._rows: list[dict[str, Any]] = []
        self._noted: OrderedDict[tuple[str, ...], tuple[int, float]] = OrderedDict()
        self._timer: threading.Timer | None = None
        self._has_failed = False
        atexit.register(self.close)

    def note(
        self,
        reader: str,
        role: str,
        way: Way,
        versions: Mapping[str, int],
        subject: str,
        rows: int | None = None,
    ) -> None:
        """See `Reads.note`."""
        read_at, subject = datetime.now(timezone.utc), subject[:_MOST_CHARACTERS]
        with self._lock:
            for table, version in versions.items():
                if version >= 0 and self._is_new((reader, role, way, table, subject), version):
                    values = (read_at, reader, role, way, table, version, subject, rows)
                    self._rows.append(dict(zip(READS.column_names, values, strict=True)))
            del self._rows[:-_MOST_ROWS]
            if self._rows and self._timer is None:
                self._timer = threading.Timer(self._interval, self.flush)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Append the buffered rows. If that fails, they stay in the buffer."""
        with self._appending:
            with self._lock:
                waiting, self._rows, self._timer = self._rows, [], None
            if not waiting:
                return
            try:
                self._write(pa.Table.from_pylist(waiting, arrow_schema(READS)))
            except Exception as error:  # noqa: BLE001  a read is never refused for its note
                self._keep(waiting, error)

    def close(self) -> None:
        """Append the buffered rows, and stop appending at exit."""
        timer = self._timer
        if timer is not None:
            timer.cancel()
        self.flush()
        atexit.unregister(self.close)

    def _is_new(self, read: tuple[str, ...], version: int) -> bool:
        """Whether the read was not recorded at this version within the last hour."""
        now, known = self._clock(), self._noted.pop(read, None)
        repeats = known is not None and known[0] == version and now - known[1] < _REPEAT_SECONDS
        self._noted[read] = known if repeats and known else (version, now)
        if len(self._noted) > _MOST_ROWS:
            self._noted.popitem(last=False)
        return not repeats

    def _keep(self, rows: list[dict[str, Any]], error: Exception) -> None:
        with self._lock:
            self._rows = [*rows, *self._rows][-_MOST_ROWS:]
        if not self._has_failed:
            self._has_failed = True
            _LOG.warning("Reads can't be written to %s, and are tried again: %s", READS.name, error)


def log_of(warehouse: Path) -> ReadLog:
    """The log of reads of the tables in a folder."""
    from lakehouse.delta.python_writer import append_rows, create_table  # at exit it is too late

    _show_warnings()
    folder = warehouse.joinpath(READS.layer, READS.short_name)
    properties = {**default_properties(_REMOVED_FILES, _LOG_ENTRIES), **properties_of(READS)}

    def write(rows: pa.Table) -> None:
        create_table(folder, READS, properties)
        append_rows(folder, READS, rows)

    return ReadLog(write)


def _show_warnings() -> None:
    if not _LOG.handlers:
        _LOG.addHandler(logging.StreamHandler())


def read_log(settings: "Settings") -> ReadLog | None:
    """The log of reads of a home or a catalog; None if it is not enabled."""
    if not settings.record_reads:
        return None
    if not settings.catalog:
        return log_of(settings.warehouse)
    from lakehouse.readers.sql_warehouse import catalog_tables

    tables = catalog_tables(settings.catalog)
    _show_warnings()
    return ReadLog(lambda rows: tables.sql.append(READS, rows))


def local_user() -> str:
    """Name of the user of this machine who runs the process; `local` if the system has none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "local"
