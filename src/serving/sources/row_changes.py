"""Changes of rows as JSON, and several groups of them as one."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from lakehouse.rows.row_json import json_line

Position = Mapping[str, int]
"""Versions by table."""
PositionKey = tuple[tuple[str, int], ...]
"""A position as the key of a dictionary."""
KeyedRow = tuple[bytes, bytes]
"""JSON of a row's key, or of the whole row if there is no key, and JSON of the row."""

_OVERHEAD = 200
"""Bytes of a change in memory, in addition to its rows."""


class RowChange(NamedTuple):
    """An inserted, updated or deleted row.

    Args:
        key: JSON of the row's key; of the whole row if the table has no key.
        before: JSON of the old row; None for an insert.
        after: JSON of the new row; None for a delete.
        cause: JSON of the cause; None if causes are not requested.
    """

    key: bytes
    before: bytes | None
    after: bytes | None
    cause: bytes | None = None

    @property
    def kind(self) -> str:
        """`insert`, `update` or `delete`."""
        return "insert" if self.before is None else "delete" if self.after is None else "update"

    @property
    def size(self) -> int:
        """Approximate bytes in memory."""
        return _OVERHEAD + len(self.before or b"") + len(self.after or b"")

    def json(self) -> dict[str, Any]:
        """The JSON object for subscribers."""
        content = {"change": self.kind, "before": _raw(self.before), "after": _raw(self.after)}
        return content if self.cause is None else {**content, "caused_by": msgspec.Raw(self.cause)}


@dataclass(frozen=True)
class ChangeGroup:
    """Changes that become known together.

    Args:
        rows: the changes; none if a commit changed no visible row.
        position: versions of the tables after the changes.
        committed_at: commit time in seconds since 1970; None if unknown.
        has_key: whether rows are identified by key.
        commit: fields that all changes of the group share.
    """

    rows: Iterable[RowChange]
    position: Position
    committed_at: float | None = None
    has_key: bool = True
    commit: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def size(self) -> int:
        """Bytes in memory."""
        return _OVERHEAD + sum(row.size for row in self.rows)

    def in_memory(self) -> "ChangeGroup":
        """The group with its rows in a list, which can be read several times."""
        return replace(self, rows=list(self.rows))

    def lines(self) -> Iterator[str]:
        """A line of JSON for each change, then one with the position."""
        for row in self.rows:
            yield json_line({**self.commit, **row.json()})
        yield json_line({"position": dict(self.position)})


def conflate(groups: Sequence[ChangeGroup]) -> ChangeGroup:
    """One group with the same effect as several: each row has its first `before` and last `after`.

    Args:
        groups: consecutive groups, at least one.
    """
    last = groups[-1]
    if len(groups) == 1:
        return last
    rows = [row for group in groups for row in group.rows]
    has_key = all(group.has_key for group in groups)
    net = _by_key(rows) if has_key else as_whole(rows)
    return ChangeGroup(net, last.position, last.committed_at, has_key)


def result_changes(before: Sequence[KeyedRow], after: Sequence[KeyedRow]) -> tuple[list[RowChange], bool]:
    """Changes between two results (none if they are equal), and whether a key identifies their rows.

    If a key occurs twice in a result, the key is not used: the two results are compared as multisets of
    whole rows.
    """
    has_key = all(len(dict(rows)) == len(rows) for rows in (before, after))
    rows = [RowChange(key, row, None) for key, row in before]
    rows += [RowChange(key, None, row) for key, row in after]
    return (_by_key if has_key else as_whole)(rows), has_key


def position_key(position: Position) -> PositionKey:
    """The position as a key, the same for equal positions."""
    return tuple(sorted(position.items()))


def is_ahead(position: Position, other: Position) -> bool:
    """Whether a position has a later version of any table than another position."""
    return any(version > other.get(name, -1) for name, version in position.items())


def _by_key(rows: Iterable[RowChange]) -> list[RowChange]:
    found: dict[bytes, RowChange] = {}
    for row in rows:
        first = found.pop(row.key, None)
        joined = row if first is None else RowChange(row.key, first.before, row.after)
        if joined.before != joined.after:
            found[row.key] = joined
    return list(found.values())


def as_whole(rows: Iterable[RowChange]) -> list[RowChange]:
    """The net deletes and inserts of whole rows."""
    counts: Counter[bytes] = Counter()
    for row in rows:
        if row.before is not None:
            counts[row.before] -= 1
        if row.after is not None:
            counts[row.after] += 1
    gone = [RowChange(row, row, None) for row, count in counts.items() for _ in range(-count)]
    return gone + [RowChange(row, None, row) for row, count in counts.items() for _ in range(count)]


def _raw(row: bytes | None) -> msgspec.Raw | None:
    return None if row is None else msgspec.Raw(row)
