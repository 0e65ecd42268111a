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
_QUERY = """
    SELECT source,
        (SELECT count(*) FROM delivered AS d
            WHERE d.source = c.source AND d.at >= :since AND d.logged_at >= :since)
        + (SELECT count(value) FROM messages AS m WHERE m.source = c.source AND m.logged_at >= :since),
        received,
        (SELECT count(value) FROM messages AS m WHERE m.source = c.source),
        (SELECT min(logged_at) FROM messages AS m WHERE m.source = c.source),
        (SELECT count(*) FROM shed AS s WHERE s.source = c.source),
        refused
    FROM counts AS c ORDER BY source
"""
_MINUTE = 60_000_000


def by_source(home: Path) -> pl.DataFrame:
    """One row a node and source: events of the last minute and since the log began.

    `oldest` is when the first event that waits was logged. Empty where no collector has run.
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
            return connection.execute(_QUERY, {"since": since}).fetchall()
    except sqlite3.Error:
        return []  # a log that is being created
