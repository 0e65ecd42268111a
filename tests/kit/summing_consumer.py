"""A user's program that writes each change of a table to a database, and maintains sums.

Arguments: `sqlite` or `postgres`, path or connection string, URLs joined by commas, lease in seconds.
"""

import os
import sys
from collections.abc import Callable

from millrace.client import Consumer, Cursor, Group, PositionStore, PostgresStore, SqliteStore, Stream

CREATE = (
    "CREATE TABLE effects (version BIGINT, day TEXT, step TEXT, old BIGINT, new BIGINT)",
    "CREATE TABLE sums (step TEXT PRIMARY KEY, visitors BIGINT)",
    "CREATE TABLE applied (version BIGINT, is_reset INTEGER, pid BIGINT)",
)
_SUM = """INSERT INTO sums VALUES (?, ?)
    ON CONFLICT (step) DO UPDATE SET visitors = sums.visitors + excluded.visitors"""


def applying(store: PositionStore) -> Callable[[Cursor, Group], None]:
    """A function that writes the effects of a group."""

    def run(cursor: Cursor, statement: str, *values: object) -> None:
        cursor.execute(statement.replace("?", store.marker), values)

    def apply(cursor: Cursor, group: Group) -> None:
        version = group.versions["gold.funnel"]
        run(cursor, "INSERT INTO applied VALUES (?, ?, ?)", version, int(group.reset), os.getpid())
        if group.reset:
            run(cursor, "DELETE FROM effects")
            run(cursor, "DELETE FROM sums")
        for change in group.row_changes:
            row = change.after or change.before or {}
            old, new = (each and each["visitors"] for each in (change.before, change.after))
            run(
                cursor,
                "INSERT INTO effects VALUES (?, ?, ?, ?, ?)",
                version,
                row["day"],
                row["step"],
                old,
                new,
            )
            run(cursor, _SUM, row["step"], (new or 0) - (old or 0))

    return apply


def main(kind: str, place: str, urls: str, lease: str) -> None:
    """Run until killed."""
    store = SqliteStore(place) if kind == "sqlite" else PostgresStore(place)
    stream = Stream(urls.split(","), table="gold.funnel")
    Consumer(store, "sums", stream, float(lease)).run(applying(store))


if __name__ == "__main__":
    main(*sys.argv[1:])
