"""Groups of changes that are applied together, spilled to a file if they are large."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO, Any, NamedTuple, cast

_MEMORY_BYTES = 4 << 20
"""Maximum bytes of a group in memory; a larger group is kept in a temporary file."""

Row = Mapping[str, Any]
"""Values by column, in JSON's types: decimals and times are text."""


class Change(NamedTuple):
    """An inserted, updated or deleted row.

    Args:
        kind: `insert`, `update` or `delete`.
        before: the old row; None for an insert.
        after: the new row; None for a delete.
    """

    kind: str
    before: Row | None
    after: Row | None


class Changes:
    """The changes of a group, which can be read any number of times while the group is applied.

    Up to 4 MB of JSON are kept in memory, more in a temporary file. Changes are parsed while they are read,
    so a snapshot of any size can be applied.
    """

    def __init__(self) -> None:
        self._file = cast(IO[bytes], SpooledTemporaryFile(_MEMORY_BYTES))  # noqa: SIM115 - closed by close()

    def add(self, message: str) -> None:
        """Add the changes of a message: one line with a JSON object that has `rows` or `changes`."""
        self._file.seek(0, 2)
        self._file.write(message.encode() + b"\n")

    def __iter__(self) -> Iterator[Change]:
        place = 0
        while True:
            self._file.seek(place)
            line = self._file.readline()
            place = self._file.tell()
            if not line:
                return
            message = json.loads(line)
            for row in message.get("rows", ()):
                yield Change("insert", None, row)
            for each in message.get("changes", ()):
                yield Change(each["change"], each["before"], each["after"])

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def close(self) -> None:
        """Remove the file. The changes can't be read after that."""
        self._file.close()


@dataclass(frozen=True)
class Group:
    """Changes to apply atomically.

    Args:
        reset: whether the changes are all rows, as inserts: discard earlier rows.
        key: columns that identify a row, empty if none do; None after a resume, since only a reset has
            them. A `Consumer` remembers them.
        row_changes: the changes; empty if only the position has moved.
        position: resume token of the stream after this group.
        versions: version of each table after this group.
        committed_at: when the changes were committed, RFC 3339; None for a reset.
    """

    reset: bool
    key: tuple[str, ...] | None
    row_changes: Changes
    position: str
    versions: Mapping[str, int]
    committed_at: str | None = None
