"""The history of a row of the shop's database, from its changes in any order, with copies."""

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

INSERT, UPDATE, DELETE, TRUNCATE, SNAPSHOT = "insert", "update", "delete", "truncate", "snapshot"
KINDS = frozenset({INSERT, UPDATE, DELETE, TRUNCATE, SNAPSHOT})

Values = Mapping[str, str | None]
"""A row: by column, the value as text."""


class Change(NamedTuple):
    """A change of a row, or of all rows of its table.

    Args:
        lsn: position of the commit in the write-ahead log; of a snapshot, that of the snapshot.
        sequence: place among the changes of this commit.
        kind: one of `KINDS`. A snapshot of a table begins with a truncate of the same `lsn`.
        committed_at: time of the commit or of the snapshot, in microseconds.
        row: the new row; None for a delete or truncate.
        unchanged: columns that the change leaves as they were and whose values it lacks.
    """

    lsn: int
    sequence: int
    kind: str
    committed_at: int
    row: Values | None = None
    unchanged: tuple[str, ...] = ()


class Version(NamedTuple):
    """A state of a row between two commits.

    Args:
        lsn: position of the commit that made it.
        changed_at: time of that commit, at least that of each commit of the row before.
        valid_from: the same; None if it is older than the first snapshot.
        valid_to: start of the next version, or time of the deletion; None if it is current.
        row: the values.
    """

    lsn: int
    changed_at: int
    valid_from: int | None
    valid_to: int | None
    row: Values


def versions_of(changes: Collection[Change]) -> list[Version]:
    """The versions of a row, in order.

    Only what was visible outside counts: of several changes in one transaction, the last. A commit that
    leaves all values as they were makes no version. Times of a row's commits never go back.

    Args:
        changes: all changes of the row, and all truncates of its table; in any order, with copies.
    """
    found: list[Version] = []
    for lsn, at, before, after in _states(changes):
        if after == before:
            continue
        if before is not None:
            found[-1] = found[-1]._replace(valid_to=at)
        if after is not None:
            found.append(Version(lsn, at, at, None, after))
    return _open_start(found, changes)


def _states(changes: Collection[Change]) -> Iterator[tuple[int, int, Values | None, Values | None]]:
    """By commit: its position, its time, and the row before and after; None where there is none."""
    state: Values | None = None
    clock = 0
    in_order = sorted({(each.lsn, each.sequence): each for each in changes}.values(), key=_place)
    for lsn, of_commit in groupby(in_order, key=lambda each: each.lsn):
        before = state
        for change in of_commit:
            clock = max(clock, change.committed_at)
            state = _applied(state, change)
        yield lsn, clock, before, state


def _place(change: Change) -> tuple[int, int]:
    return change.lsn, change.sequence


def _applied(state: Values | None, change: Change) -> Values | None:
    if change.row is None or not change.unchanged:
        return change.row
    known = state or {}
    return {**change.row, **{name: known.get(name) for name in change.unchanged}}


def _open_start(versions: list[Version], changes: Collection[Change]) -> list[Version]:
    """A row that was there at the first snapshot is older than that: when it began is not known."""
    first = min(changes, key=lambda each: (each.lsn, -each.sequence), default=None)
    if versions and first and first.kind == SNAPSHOT and versions[0].lsn == first.lsn:
        return [versions[0]._replace(valid_from=None), *versions[1:]]
    return versions
