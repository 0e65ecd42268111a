"""A consumer of the streaming API: applies each change to a database exactly once.

It needs httpx and httpx-sse, and psycopg for Postgres: no Spark, no Delta.
"""

from millrace.client.change_group import Change, Changes, Group
from millrace.client.consumer import Consumer
from millrace.client.event_stream import Stream, follow
from millrace.client.position_store import Cursor, PositionStore
from millrace.client.postgres_store import PostgresStore
from millrace.client.sqlite_store import SqliteStore
from millrace.client.table_mirror import TableMirror

__all__ = [
    "Change",
    "Changes",
    "Consumer",
    "Cursor",
    "Group",
    "PositionStore",
    "PostgresStore",
    "SqliteStore",
    "Stream",
    "TableMirror",
    "follow",
]
