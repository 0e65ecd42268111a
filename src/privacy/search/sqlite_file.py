"""Searches SQLite files: values of all tables, and pages that are no longer in use."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values
from privacy.search.places import Counts, RawCounts

MAGIC = b"SQLite format 3\0"

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
_SECONDS = 30


def search_sqlite(matcher: Matcher, file: Path, raw: RawCounts) -> Counts:
    """Matches by part and encoding. A writer may be at work.

    SQLite puts values side by side without a byte between them, so all matches in the bytes are compared
    with all in values: those that are more are in freed pages, or in an index.

    Args:
        matcher: of the identifiers.
        file: a SQLite database.
        raw: all matches in its bytes, parts of longer words included.
    """
    found: Counts = Counter()
    in_values: Counter[str] = Counter()
    with closing(_open(file)) as database:
        database.text_factory = bytes
        for (name,) in database.execute(_TABLES).fetchall():
            table = name.decode()
            for _, match in find_in_values(matcher, _values(database, table)):
                in_values[match.encoding] += 1
                found[f"table {table}", match.encoding] += match.is_whole
    in_bytes: Counter[str] = Counter()
    for (_, encoding, _), count in raw.items():
        in_bytes[encoding] += count
    for encoding, count in (in_bytes - in_values).items():
        found["freed pages or index", encoding] = count
    return +found


def _open(file: Path) -> sqlite3.Connection:
    """Open a database for reading. Without a writer's log it is read as it is, else SQLite creates a log."""
    has_log = file.with_name(f"{file.name}-wal").exists()
    address = f"{file.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    return sqlite3.connect(address, uri=True, timeout=_SECONDS)


def _values(database: sqlite3.Connection, table: str) -> Iterator[bytes]:
    quoted = table.replace('"', '""')
    for row in database.execute(f'SELECT * FROM "{quoted}"'):
        for value in row:
            if isinstance(value, bytes):
                yield value
            elif isinstance(value, int):
                yield b"%d" % value
