"""Counts corrected rows: rows of a version of a table that a later commit changed or deleted."""

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.contracts.table import Table
from lakehouse.errors import MillraceError
from lakehouse.readers.versioned_tables import VersionedTables


class CorrectedRows(NamedTuple):
    """Corrected rows by version.

    Args:
        counts: by requested version, the number of its rows that were corrected. A version is missing if the
            change feed does not reach back to it, or the table has no such version.
        first_version: the earliest requested version, or the earliest that the change feed reaches back to.
    """

    counts: dict[int, int]
    first_version: int


def count_corrected(
    tables: VersionedTables,
    table: Table,
    versions: Collection[int],
    first_commit: int = 0,
    since: datetime | None = None,
) -> CorrectedRows:
    """For some versions of a table, the number of their rows that later commits changed or deleted.

    A row counts once, however often it was changed. A commit that changes only provenance columns does not
    count. A row that is deleted and later inserted again with the same key is another row. Rows of a table
    without a key can't be changed, only deleted.

    The feed is read once, backwards from the latest commit. The corrected rows of a version are those of the
    next version, without the rows that the next version inserted, and with the rows that it changed or
    deleted.

    Args:
        tables: the tables.
        table: its contract.
        versions: the versions.
        first_commit: only corrections by commits from this version on count.
        since: only corrections that were committed from this time on count; None: all.
    """
    table = _without_provenance(table)
    corrected: Counter[str] = Counter()
    counts: dict[int, int] = {}
    version = tables.latest_version(table.name)
    earliest = min(versions, default=version)
    while version >= earliest:
        if version in versions:
            counts[version] = corrected.total()
        if version == earliest:
            break
        try:
            changes = tables.changes(table, version)
        except MillraceError:  # the feed begins after this commit
            break
        _go_back(corrected, table, changes, version >= first_commit and _is_since(changes, since))
        version -= 1
    return CorrectedRows(counts, version)


def _go_back(corrected: Counter[str], table: Table, changes: pa.Table, counts: bool) -> None:
    """Step back over a commit: remove rows that it inserted, and add those that it changed or deleted."""
    for row in _rows_of(table, changes, "insert"):
        corrected[row] -= 1
        if corrected[row] <= 0:
            del corrected[row]
    if not counts:
        return
    for kind in ("update", "delete"):
        for row in _rows_of(table, changes, kind):
            corrected[row] = 1 if table.key else corrected[row] + 1


def _rows_of(table: Table, changes: pa.Table, kind: str) -> Iterator[str]:
    """The keys of changed rows as text; without a key, the whole rows."""
    side = "after" if kind == "insert" else "before"
    names = table.key or table.column_names
    rows = changes.filter(pc.equal(changes["change"], kind))[side]
    for batch in rows.chunks:
        values: list[dict[str, Any]] = batch.to_pylist()
        for row in values:
            yield json.dumps([row[name] for name in names], default=str)


def _is_since(changes: pa.Table, since: datetime | None) -> bool:
    if since is None or not changes.num_rows:
        return True
    committed: datetime | None = changes["commit_timestamp"][0].as_py()
    return committed is None or committed >= since


def _without_provenance(table: Table) -> Table:
    """The contract without provenance columns outside the key: a change of these is no correction."""
    kept = (column for column in table.columns if not column.provenance or column.name in table.key)
    return replace(table, columns=tuple(kept))
