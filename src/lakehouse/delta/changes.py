"""The change feed of a table in a folder: what each commit changed, from Delta's log alone.

Decision and figures: docs/decisions/0037.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Table
from lakehouse.delta.data_files import file_of, live_files, read_files
from lakehouse.delta.log_files import commit_file, latest_version, parse_metadata
from lakehouse.errors import MillraceError
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.duckdb_sql import connect

_INSTANT = pa.timestamp("us", tz="UTC")
_OWN = threading.local()


class Snapshot(NamedTuple):
    """All rows of a version of a table, in the columns of its contract."""

    version: int
    rows: pa.Table


def change_schema(table: Table) -> pa.Schema:
    """The schema of changes of a table."""
    row = pa.struct(list(arrow_schema(table)))
    return pa.schema(
        {
            "change": pa.string(),
            "commit_version": pa.int64(),
            "commit_timestamp": _INSTANT,
            "job": pa.string(),
            "upto": _INSTANT,
            "before": row,
            "after": row,
        }
    )


def read_snapshot(folder: Path, table: Table, version: int | None = None) -> Snapshot:
    """The rows of a version, to which the changes after it apply.

    Args:
        folder: of the table.
        table: its contract.
        version: the version; None: the latest.

    Raises:
        MillraceError: if the version can't be read any more, or there is no table.
    """
    try:
        there = DeltaTable(folder, version=version)
        found = there.version()
        return Snapshot(found, read_files(folder, table, live_files(there), found))
    except (DeltaError, FileNotFoundError) as error:
        raise _gone(folder, table, f"version {'' if version is None else version}".strip()) from error


def read_changes(folder: Path, table: Table, after_version: int, upto_version: int) -> pa.Table:
    """The changes of the commits after a version, up to another one; see `iterate_changes`."""
    found = iterate_changes(folder, table, after_version, upto_version)
    return pa.concat_tables([change_schema(table).empty_table(), *found])


def iterate_changes(folder: Path, table: Table, after_version: int, upto_version: int) -> Iterator[pa.Table]:
    """The changes of each commit, as rows of `change_schema`, one table a commit, in order.

    `change` is `insert`, `update` or `delete`; `before` is null for an insert, `after` for a delete. `job`
    and `upto` are the commit's metadata, null if it has none. A row that is rewritten unchanged is no change.
    Rows of a table without a key are inserted and deleted, each as often as the commit adds or removes it.
    Removing the rows `before` from those of `after_version`, and adding the rows `after`, gives the rows of
    `upto_version`.

    Args:
        folder: of the table.
        table: its contract.
        after_version: the last version whose changes are known; -1 for none.
        upto_version: the last version to read.

    Raises:
        MillraceError: if the log no longer has a commit, or VACUUM has removed a file of it.
    """
    for version in range(after_version + 1, upto_version + 1):
        yield _changes_of(folder, table, version)


def _changes_of(folder: Path, table: Table, version: int) -> pa.Table:
    try:
        return _read_commit(folder, table, version)
    except (DeltaError, FileNotFoundError) as error:
        raise _gone(folder, table, f"the changes of version {version}") from error


def _read_commit(folder: Path, table: Table, version: int) -> pa.Table:
    lines = commit_file(folder, version).read_text(encoding="utf-8").splitlines()
    actions = [json.loads(line) for line in lines if line]
    files = [(kind, each[kind]) for each in actions for kind in ("remove", "add") if kind in each]
    if not any(file.get("dataChange", True) for _, file in files):
        return change_schema(table).empty_table()
    removed, added = (
        [file_of(file) for kind, file in files if kind == wanted] for wanted in ("remove", "add")
    )
    before = read_files(folder, table, removed, version - 1)
    after = read_files(folder, table, added, version)
    return _paired(table, before, after, _commit_columns(actions, version))


def _commit_columns(actions: list[dict[str, Any]], version: int) -> dict[str, pa.Scalar]:
    info: Mapping[str, Any] = next((each["commitInfo"] for each in actions if "commitInfo" in each), {})
    millis = info.get("inCommitTimestamp", info.get("timestamp"))
    metadata = parse_metadata(info.get("userMetadata"))
    return {
        "commit_version": pa.scalar(version, pa.int64()),
        "commit_timestamp": pa.scalar(None if millis is None else 1_000 * millis, _INSTANT),
        "job": pa.scalar(metadata.get("job"), pa.string()),
        "upto": pa.scalar(metadata.get("upto"), _INSTANT),
    }


def _paired(table: Table, before: pa.Table, after: pa.Table, commit: Mapping[str, pa.Scalar]) -> pa.Table:
    """Changes from the rows of removed files to those of added ones."""
    places = _places(table, before, after)
    old, new = places["old"].combine_chunks(), places["new"].combine_chunks()
    kinds = ["update" if b and a else "insert" if a else "delete" for b, a in _valid(old, new)]
    columns = {
        "change": pa.array(kinds, pa.string()),
        **{name: pa.repeat(value, len(kinds)) for name, value in commit.items()},
        "before": _as_structs(before, old),
        "after": _as_structs(after, new),
    }
    return pa.table(columns, schema=change_schema(table))


def _valid(old: pa.Array, new: pa.Array) -> Iterator[tuple[bool, bool]]:
    return zip(old.is_valid().to_pylist(), new.is_valid().to_pylist(), strict=True)


def _as_structs(rows: pa.Table, places: pa.Array) -> pa.Array:
    """The rows at some indices, as structs; null where the index is null."""
    taken = rows.combine_chunks().take(places)
    columns = [taken[name].combine_chunks() for name in rows.column_names]
    return pa.StructArray.from_arrays(columns, fields=list(rows.schema), mask=places.is_null())


def _places(table: Table, before: pa.Table, after: pa.Table) -> pa.Table:
    """The row indices of each change: `old` and `new`, of which one may be null.

    Rows are matched by key; in a table without a key by all columns, so that matched rows are equal and no
    change. Several rows with the same key are matched in order.
    """
    connection = _connection()
    for name, rows in (("b", before), ("a", after)):
        numbers = pa.array(range(rows.num_rows), pa.int64())
        connection.register(f"{name}_rows", in_micros(rows).append_column("_place", numbers))
    key = table.key or table.column_names
    keys = ", ".join(f'"{name}"' for name in key)
    values = ", ".join(f'"{name}"' for name in table.column_names)
    twice = " UNION ALL ".join(
        f"(SELECT 1 FROM {name}_rows GROUP BY {keys} HAVING count(*) > 1 LIMIT 1)" for name in "ba"
    )
    nth = "0"
    if connection.execute(twice).fetchall():
        nth = f"row_number() OVER (PARTITION BY {keys} ORDER BY {values})"
    same_key = " AND ".join(f'b."{name}" IS NOT DISTINCT FROM a."{name}"' for name in key)
    differs = " OR ".join(f'b."{name}" IS DISTINCT FROM a."{name}"' for name in table.column_names)
    found: pa.Table = connection.sql(
        f"""SELECT b._place AS old, a._place AS new
        FROM (SELECT *, {nth} AS _nth FROM b_rows) AS b
        FULL JOIN (SELECT *, {nth} AS _nth FROM a_rows) AS a ON {same_key} AND b._nth = a._nth
        WHERE b._place IS NULL OR a._place IS NULL OR {differs}
        ORDER BY b._place NULLS LAST, a._place"""
    ).to_arrow_table()
    for name in "ba":
        connection.unregister(f"{name}_rows")
    return found


def _connection() -> Any:
    """This thread's DuckDB connection: opening one takes a fifth of the time of a small commit."""
    if not hasattr(_OWN, "connection"):
        _OWN.connection = connect()
        _OWN.connection.execute("SET TimeZone = 'UTC'")
    return _OWN.connection


def _gone(folder: Path, table: Table, what: str) -> MillraceError:
    latest = latest_version(folder)
    if latest < 0:
        return MillraceError(f"there is no table {table.name} yet", "`millrace run` writes it")
    return MillraceError(
        f"{what} of {table.name} can't be read: VACUUM or log retention has removed files of it",
        f"Begin with a snapshot, which is of version {latest}, and go on with the changes after it",
    )
