"""The rows of a table or query as an answer, started in one visit to a thread."""

from collections.abc import AsyncGenerator, Iterator
from typing import NamedTuple

from lakehouse.access.role import Role
from serving.query_limits import TryLaterError
from serving.sources.row_changes import Position
from serving.stream.hub import Hub
from serving.stream.snapshots import in_thread
from serving.stream.wanted import Wanted

PIECE_BYTES = 32 << 10


class OpenedRows(NamedTuple):
    """Rows whose first piece is there.

    Args:
        position: versions of the tables.
        token: resume token of the position.
        first: the first lines.
        rest: the further ones; None without any.
    """

    position: Position
    token: str
    first: bytes
    rest: Iterator[bytes] | None

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """All lines; the further ones are read in threads."""
        yield self.first
        if self.rest is not None:
            async for piece in in_thread(self.rest):
                yield piece


def open_rows(hub: Hub, wanted: Wanted, as_of: str | None, role: Role, reader: str) -> OpenedRows:
    """Open a table or query, and read the first piece of its rows: all that needs a thread, if they are few.

    Each further visit to a thread costs a turn of the event loop, for which others may have work.

    Args:
        hub: the tables.
        wanted: the table or query.
        as_of: position that rows are read as of; None: the latest one.
        role: role of the reader.
        reader: name of the reader.

    Raises:
        TryLaterError: if a table is not there yet, or a query can't run now.
        MillraceError: if it can't be read.
    """
    source = hub.source(wanted, role, reader)
    position = hub.position_of(source, as_of)
    if position is None:
        raise TryLaterError("a table of the query is not there yet", "Try again later")
    token = hub.subject(wanted, role, source).token(position)
    rest = in_pieces(part + b"\n" for part in source.rows(position, reader).lines())
    first = next(rest)
    return OpenedRows(position, token, first, rest if len(first) >= PIECE_BYTES else None)


def in_pieces(parts: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of at least 32 KiB, except for the last one."""
    waiting = bytearray()
    for part in parts:
        waiting += part
        if len(waiting) >= PIECE_BYTES:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)
