"""The tables of the collector's log, in SQLite, whose write-ahead log is synchronised at each commit."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from lakehouse.errors import MillraceError

_TABLES = """
CREATE TABLE IF NOT EXISTS messages (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    receipt TEXT NOT NULL,
    source TEXT NOT NULL,
    logged_at INTEGER NOT NULL,
    key BLOB,
    value BLOB,
    promise TEXT
);
CREATE TABLE IF NOT EXISTS shed (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    receipt TEXT NOT NULL,
    source TEXT NOT NULL,
    logged_at INTEGER NOT NULL,
    key BLOB,
    value BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS delivered (
    receipt TEXT NOT NULL,
    source TEXT NOT NULL,
    partition INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    logged_at INTEGER NOT NULL,
    at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS delivered_by_receipt ON delivered (receipt);
CREATE INDEX IF NOT EXISTS delivered_by_time ON delivered (at);
CREATE INDEX IF NOT EXISTS shed_by_receipt ON shed (receipt);
CREATE TABLE IF NOT EXISTS counts (
    source TEXT PRIMARY KEY,
    received INTEGER NOT NULL DEFAULT 0,
    forwarded INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    shed INTEGER NOT NULL DEFAULT 0,
    replayed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS leases (source TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS positions (source TEXT PRIMARY KEY, position TEXT NOT NULL);
"""
_RENAME = """
ALTER TABLE messages RENAME TO messages_before;
DROP TABLE delivered;
"""
_UPGRADE = """
INSERT INTO messages (sequence, receipt, source, logged_at, key, value)
    SELECT sequence, receipt, 'local', 0, key, value FROM messages_before;
INSERT INTO counts (source, received) SELECT 'local', count(*) FROM messages_before;
DROP TABLE messages_before;
"""
_VERSION = 2


def open_log(file: Path) -> sqlite3.Connection:
    """Connect for writing. A commit returns once it is on disk."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=30, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


@contextmanager
def reading(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a log for reading during the block. A collector may be running."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as connection:
        yield connection


def create_log(file: Path) -> None:
    """Create the tables, and migrate the messages of a log without sources and times.

    Raises:
        MillraceError: if the disk is full or the folder is not writable.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        for each in file.parent.glob(f"{file.name}*"):  # events may name persons; an earlier release's too
            each.chmod(0o600)
        _create(file)
    except (sqlite3.Error, OSError) as error:
        raise MillraceError(
            f"the collector's log {file} can't be written: {error}",
            "Is the disk full, or the folder not writable?",
        ) from error


def _create(file: Path) -> None:
    with closing(open_log(file)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == _VERSION:
            return
        is_renamed = _has_table(connection, "messages_before")  # by an earlier release that was interrupted
        is_old = version == 0 and not is_renamed and _has_table(connection, "messages")
        statements = _RENAME * is_old + _TABLES + _UPGRADE * (is_old or is_renamed)
        connection.executescript(f"BEGIN IMMEDIATE; {statements} PRAGMA user_version = {_VERSION}; COMMIT;")


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,))
    return found.fetchone() is not None
