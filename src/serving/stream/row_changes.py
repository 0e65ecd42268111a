"""Changes of rows as JSON, and several groups of them as one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

Position = Mapping[str, int]
"""Versions by table."""

_OVERHEAD = 200
"""Bytes of a change beside its rows, in memory."""


class RowChange(NamedTuple):
    """A row that came, went or was replaced.

    Args:
        key: JSON of the values that identify the row; of the whole row where a table has no key.
        before: JSON of the old row; None for an insert.
        after: JSON of the new row; None for a delete.
        cause: JSON of what caused the change; None if nobody asked.
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
        """Bytes."""
        return _OVERHEAD + len(self.before or b"") + len(self.after or b"")

    def json(self) -> dict[str, Any]:
        """The object that subscribers get."""
        content = {"change": self.kind, "before": _raw(self.before), "after": _raw(self.after)}
        return content if self.cause is None else {**content, "caused_by": msgspec.Raw(self.cause)}


@dataclass(frozen=True)
class ChangeGroup:
    """Changes that become known together.

    Args:
        changes_of_rows: the changes; none if a commit changed nothing that is seen here.
        position: versions of the tables after them.
        committed_at: when, in seconds since 1970; None if it is not known.
        has_key: whether rows are identified by key.
    """

    rows: Sequence[RowChange]
    position: Position
    committed_at: float | None = None
    has_key: bool = True

    @cached_property
    def size(self) -> int:
        """Bytes in memory."""
        return _OVERHEAD + sum(row.size for row in self.rows)


def conflate(groups: Sequence[ChangeGroup]) -> ChangeGroup:
    """One group with the same effect: of each row the first `before` and the last `after`.

    Args:
        groups: groups that follow each other, at least one.
    """
    last = groups[-1]
    if len(groups) == 1:
        return last
    rows = [row for group in groups for row in group.rows]
    net = _by_key(rows) if last.has_key else _as_whole(rows)
    return ChangeGroup(net, last.position, last.committed_at, last.has_key)


def _by_key(rows: Iterable[RowChange]) -> list[RowChange]:
    found: dict[bytes, RowChange] = {}
    for row in rows:
        first = found.pop(row.key, None)
        joined = row if first is None else RowChange(row.key, first.before, row.after)
        if joined.before != joined.after:
            found[row.key] = joined
    return list(found.values())


def _as_whole(rows: Iterable[RowChange]) -> list[RowChange]:
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
