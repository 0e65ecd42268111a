"""Collectors of the local workspace: what each source sends and what waits, from the logs of the nodes."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import polars as pl

_SCHEMA = {
    "node": pl.String,
    "source": pl.String,
    "last_minute": pl.Int64,
    "received": pl.Int64,
    "waiting": pl.Int64,
    "oldest": pl.Datetime("us", "UTC"),
    "shed": pl.Int64,
    "refused": pl.Int64,
}
_COUNTS = """
    SELECT source, received, max(received - forwarded - lost - (shed - replayed), 0), shed - replayed, refused
    FROM counts ORDER BY source
"""
_LAST_MINUTE = """
    SELECT source, sum(events) FROM (
        SELECT source, count(*) AS events FROM delivered
        WHERE at >= :since AND logged_at >= :since GROUP BY source
        UNION ALL
        SELECT source, sum(value IS NOT NULL) FROM messages
        WHERE sequence >= :first AND logged_at >= :since GROUP BY source
    ) GROUP BY source
"""
_MINUTE = 60_000_000

_first_places: dict[tuple[Path, str], int] = {}
"""By log, and source or "" for the last minute: before this sequence there is no message of it any more."""


def by_source(home: Path) -> pl.DataFrame:
    """One row a node and source: events of the last minute and since the log began.

    `oldest` is when the first event that waits was logged. Empty where no collector has run. However much
    waits, only messages since the last call and of the last minute are read.
    """
    folder = home / "collect"
    files = {"main": folder / "messages.db"} | {
        file.parent.name: file for file in sorted(folder.glob("*/messages.db"))
    }
    rows = [(node, *row) for node, file in files.items() if file.is_file() for row in _rows(file)]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _rows(file: Path) -> list[tuple[object, ...]]:
    since = time.time_ns() // 1000 - _MINUTE
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=5)) as connection:
            connection.execute("BEGIN")  # one snapshot for all statements
            recent, _ = _first(connection, (file, ""), "logged_at >= ?", since)
            found = dict(connection.execute(_LAST_MINUTE, {"since": since, "first": recent}).fetchall())
            counts = connection.execute(_COUNTS).fetchall()
            return [
                (source, found.get(source, 0), received, waiting, _oldest(connection, file, source), *rest)
                for source, received, waiting, *rest in counts
            ]
    except sqlite3.Error:
        return []  # a log that is being created


def _oldest(connection: sqlite3.Connection, file: Path, source: str) -> int | None:
    return _first(connection, (file, source), "source = ?", source)[1]


def _first(
    connection: sqlite3.Connection, key: tuple[Path, str], condition: str, value: str | int
) -> tuple[int, int | None]:
    """Sequence and time of the first message that meets a condition; without one, the next sequence."""
    last = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").fetchone() or (0,)
    start = _first_places.get(key, 0)
    found: tuple[int, int | None] = connection.execute(
        "SELECT sequence, logged_at FROM messages"
        f" WHERE sequence >= ? AND value IS NOT NULL AND {condition} ORDER BY sequence LIMIT 1",
        (start if start <= last[0] + 1 else 0, value),  # the log was made again, if it ends before
    ).fetchone() or (last[0] + 1, None)
    _first_places[key] = found[0]
    return found
