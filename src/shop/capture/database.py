"""Connections to PostgreSQL, and what capture needs there: a publication, a replication slot, a snapshot."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
from psycopg import pq, sql

from lakehouse.errors import MillraceError
from shop.capture.row_changes import check_columns
from shop.shop_file import FILE, ShopSource

_FORMATS = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "client_encoding": "UTF8",
        "datestyle": "ISO",
        "timezone": "UTC",
        "intervalstyle": "postgres",
        "extra_float_digits": "1",
        "bytea_output": "hex",
    }.items()
)
"""Texts of values are the same in a snapshot and in the log, whatever the server's settings."""

_VIA_ROOT = sql.SQL("publish_via_partition_root = true")
_IDENTITIES = """
SELECT c.oid::regclass::text, c.relreplident::text, ARRAY(
    SELECT a.attname::text FROM pg_index i
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
    WHERE i.indrelid = c.oid AND (
        c.relreplident = 'i' AND i.indisreplident OR c.relreplident = 'd' AND i.indisprimary))
FROM pg_class c
WHERE c.relkind <> 'p' AND c.oid IN (
    SELECT to_regclass(%s)::oid UNION SELECT relid FROM pg_partition_tree(to_regclass(%s)) WHERE isleaf)
"""
"""A table, or its partitions: name, kind of replica identity, and its columns."""

_OLDEST = 130_000  # the first that says whether a slot is lost
_FREE_SECONDS = 10
_ROWS = 2_000  # of a snapshot at once


class Slot(NamedTuple):
    """A replication slot.

    Args:
        active_pid: server process that reads it; None if none does.
        is_lost: whether the server has removed write-ahead log that it needs.
        confirmed: position before which the server sends nothing any more.
    """

    active_pid: int | None
    is_lost: bool
    confirmed: int


class Database:
    """One database of the shop.

    Args:
        name: the source's name in conf/shop.yml.
        source: the source.
    """

    def __init__(self, name: str, source: ShopSource) -> None:
        self.name = name
        self.source = source
        self.slot_name = f"millrace_{re.sub('[^a-z0-9_]', '_', name.lower())}"

    @contextmanager
    def connect(self, **options: str) -> Iterator[psycopg.Connection]:
        """A connection in autocommit mode.

        Raises:
            MillraceError: if the server does not answer, or refuses.
        """
        try:
            connection = psycopg.connect(
                self.source.database or "",
                autocommit=True,
                **{"options": _FORMATS, "connect_timeout": "10", **options},  # type: ignore[arg-type]
            )
        except psycopg.OperationalError as error:
            raise self._refused(error) from error
        try:
            yield connection
        finally:
            connection.close()

    def prepare(self, connection: psycopg.Connection) -> None:
        """Check server and tables, and publish the tables.

        Raises:
            MillraceError: if the server or a table is not ready for capture.
        """
        self._check_server(connection)
        columns = {name: self._columns(connection, name) for name in self.source.tables}
        for name, of_table in columns.items():
            check_columns(name, self.source.tables[name], of_table)
            self._check_identity(connection, name)
        self._publish(connection)

    def slot(self, connection: psycopg.Connection) -> Slot | None:
        """The replication slot; None if there is none."""
        found = connection.execute(
            "SELECT active_pid, wal_status IN ('lost', 'unreserved') AND restart_lsn IS NULL, "
            "coalesce(confirmed_flush_lsn, '0/0') - '0/0' FROM pg_replication_slots WHERE slot_name = %s",
            (self.slot_name,),
        ).fetchone()
        return Slot(found[0], bool(found[1]), int(found[2])) if found else None

    def free_slot(self, connection: psycopg.Connection) -> None:
        """End the server's process for a capture that was killed: it may still hold the slot."""
        until = time.monotonic() + _FREE_SECONDS
        while (slot := self.slot(connection)) and slot.active_pid and time.monotonic() < until:
            connection.execute("SELECT pg_terminate_backend(%s), pg_sleep(0.05)", (slot.active_pid,))

    def drop_slot(self, connection: psycopg.Connection) -> None:
        """Drop the replication slot."""
        connection.execute("SELECT pg_drop_replication_slot(%s)", (self.slot_name,))

    def columns_of(self, connection: psycopg.Connection, table: str) -> list[str]:
        """The columns of a table, in order."""
        return self._columns(connection, table)

    def _refused(self, error: psycopg.OperationalError) -> MillraceError:
        said = " ".join(str(error).split())
        variable = self.source.connection
        if "password authentication failed" in said or "no password supplied" in said:
            return MillraceError(
                f"PostgreSQL of {self.name} refuses the user or password", f"Correct {variable}"
            )
        return MillraceError(
            f"PostgreSQL of {self.name} does not answer: {said[:200]}",
            f"Start it, or correct host, port and database in {variable}",
        )

    def _check_server(self, connection: psycopg.Connection) -> None:
        if connection.info.server_version < _OLDEST:
            raise MillraceError(
                f"PostgreSQL of {self.name} is older than 13", "Capture needs PostgreSQL 13 or later"
            )
        level = connection.execute("SHOW wal_level").fetchone()
        if level != ("logical",):
            raise MillraceError(
                f"wal_level of PostgreSQL of {self.name} is {level[0] if level else 'unknown'}",
                "Run ALTER SYSTEM SET wal_level = logical, and start the server again",
            )

    def _columns(self, connection: psycopg.Connection, table: str) -> list[str]:
        found = connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attnum > 0 "
            "AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
            (table,),
        ).fetchall()
        if not found:
            raise MillraceError(
                f"PostgreSQL of {self.name} has no table {table}", f"Correct its name in conf/{FILE}"
            )
        return [name for (name,) in found]

    def _check_identity(self, connection: psycopg.Connection, table: str) -> None:
        """Check that the log names deleted and changed rows of a table and of its partitions by the key.

        PostgreSQL refuses updates and deletes of a published table without a replica identity.
        """
        key = self.source.tables[table].key
        for name, kind, columns in connection.execute(_IDENTITIES, (table, table)).fetchall():
            if kind == "f" or set(columns) >= set(key):
                continue
            identity = f"is {', '.join(columns)}" if columns else "is missing"
            raise MillraceError(
                f"the replica identity of {name} {identity}, and its key in conf/{FILE} is {', '.join(key)}: "
                "the log would not say which rows are deleted",
                f"Name the primary key there, or run ALTER TABLE {name} REPLICA IDENTITY FULL",
            )

    def _publish(self, connection: psycopg.Connection) -> None:
        """Create or change the publication, if it does not have exactly the tables of conf/shop.yml.

        Changes of partitions are published as those of their table.
        """
        exists = connection.execute(
            "SELECT 1 FROM pg_publication WHERE pubname = %s", (self.slot_name,)
        ).fetchone()
        listed = connection.execute(
            "SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = %s",
            (self.slot_name,),
        ).fetchall()
        if {name for (name,) in listed} == set(self.source.tables):
            return
        publication = sql.Identifier(self.slot_name)
        tables = sql.SQL(", ").join(map(identifier, self.source.tables))
        try:
            if exists:
                connection.execute(sql.SQL("ALTER PUBLICATION {} SET ({})").format(publication, _VIA_ROOT))
                connection.execute(sql.SQL("ALTER PUBLICATION {} SET TABLE {}").format(publication, tables))
            else:
                connection.execute(
                    sql.SQL("CREATE PUBLICATION {} FOR TABLE {} WITH ({})").format(
                        publication, tables, _VIA_ROOT
                    )
                )
        except psycopg.errors.InsufficientPrivilege as error:
            raise MillraceError(
                f"the user of {self.source.connection} may not publish the tables of {self.name}",
                f"Let their owner run CREATE PUBLICATION {self.slot_name} FOR TABLE "
                f"{', '.join(self.source.tables)} WITH ({_VIA_ROOT.as_string()})",
            ) from error


def identifier(table: str) -> sql.Identifier:
    """A table's name with schema, quoted."""
    return sql.Identifier(*table.split(".", 1))


def rows_in_snapshot(
    connection: psycopg.Connection, table: str, columns: list[str]
) -> Iterator[tuple[str | None, ...]]:
    """All rows of a table in the connection's transaction, values as text like in the log."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    query = sql.SQL("DECLARE rows NO SCROLL CURSOR FOR SELECT {} FROM {}").format(names, identifier(table))
    connection.execute(query)
    while True:
        found = connection.pgconn.exec_(f"FETCH {_ROWS} FROM rows".encode())
        if found.status != pq.ExecStatus.TUPLES_OK:
            raise psycopg.OperationalError(connection.pgconn.error_message.decode(errors="replace"))
        if not found.ntuples:
            break
        for number in range(found.ntuples):
            yield tuple(_text(found.get_value(number, column)) for column in range(len(columns)))
    connection.execute("CLOSE rows")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
