"""Reads and writes tables in a folder without a Spark job: docs/decisions/0025."""

import json
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from lakehouse.contracts.arrow import arrow_schema, typed
from lakehouse.contracts.table import Table
from lakehouse.delta.copy_on_write import File, plan_merge
from lakehouse.delta.file_groups import FileGroup
from lakehouse.delta.local_compaction import compact
from lakehouse.delta.local_ddl import ensure_table
from lakehouse.delta.local_vacuum import vacuum
from lakehouse.delta.log_files import VersionTakenError
from lakehouse.delta.log_writer import checkpoint_if_due, commit, remove_file, write_file
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.delta.parquet_cache import ParquetCache, Paths
from lakehouse.delta.table_log import TableLog, files_of, may_have, transaction_of
from lakehouse.rows.arrow_times import in_micros

_READER, _WRITER = 1, 2  # versions of Delta's protocol that tables are created with
_TRIES = 5  # attempts of a commit, if others take its version


class LocalTables:
    """The tables of one warehouse.

    Args:
        warehouse: its folder.
    """

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        self._cache = ParquetCache()
        self._lock = threading.Lock()
        self._logs: dict[str, TableLog] = {}
        self._old: dict[str, tuple[int, list[dict[str, Any]]]] = {}
        self._replaced: dict[str, list[Paths]] = {}

    def find(self, table: Table, wanted: Lookup, version: int | None = None) -> pa.Table:
        """Rows of a table, times in microseconds.

        Args:
            table: its contract; it exists.
            wanted: which rows.
            version: of the table; None: the latest.
        """
        schema = arrow_schema(table)
        columns, asked = (
            pa.schema([schema.field(name) for name in names]) for names in (wanted.columns, wanted.asked)
        )
        parts = [in_micros(columns.empty_table())]
        for group in self._groups(table, version):
            if may_have(group.bounds, wanted):
                mask = wanted.mask(self._read(table, group, asked)) if asked.names else None
                if mask is None or pc.all(mask, skip_nulls=False).as_py():
                    parts.append(self._read(table, group, columns))
                elif pc.any(mask).as_py():
                    parts.append(self._read(table, group, columns).filter(mask))
        return pa.concat_tables(parts)

    def count_at_most(self, table: Table, wanted: Lookup, version: int | None = None) -> int:
        """Number of rows in files that may contain wanted ones; reads no file."""
        files = self._files(table, version)
        return sum(int(file["num_records"]) for file in files if may_have(file, wanted))

    def ensure(self, table: Table, properties: Mapping[str, str]) -> bool:
        """See `lakehouse.delta.local_ddl.ensure_table`."""
        return ensure_table(self._folder(table), table, properties)

    def is_plain(self, table: Table) -> bool:
        """Whether a table has only the features that it was created with; others need Spark."""
        log = self._log(table)
        with log.lock:
            log.follow()
            protocol = log.table.protocol()
        return protocol.min_reader_version <= _READER and protocol.min_writer_version <= _WRITER

    def column_names(self, table: Table) -> list[str]:
        """Columns of the table."""
        log = self._log(table)
        with log.lock:
            log.follow()
            return [field.name for field in log.table.schema().fields]

    def properties(self, table: Table) -> Mapping[str, str]:
        """Delta properties of the table."""
        log = self._log(table)
        with log.lock:
            log.follow()
            found: Mapping[str, str] = log.table.metadata().configuration
            return found

    def append(
        self,
        table: Table,
        rows: pa.Table,
        metadata: Mapping[str, object],
        options: Mapping[str, str | int] = MappingProxyType({}),
    ) -> None:
        """Append rows in one commit.

        Args:
            table: its contract; it exists.
            rows: its columns, in any order.
            metadata: of the commit.
            options: `txnAppId` and `txnVersion` of Delta: nothing is done if that version of the application,
                or a later one, is committed.
        """
        data = typed(table, rows).select(list(table.column_names))
        properties = CommitProperties(custom_metadata={"userMetadata": json.dumps(metadata)})
        log = self._log(table)
        with log.lock:
            if options:
                log.follow()
                if log.is_done(options):
                    return
                properties.app_transactions = [transaction_of(options)]
            try:
                write_deltalake(log.table, data, mode="append", commit_properties=properties)
            except CommitFailedError:  # another process may have committed the transaction
                log.follow()
                if not log.is_done(options):
                    raise

    def merge(self, table: Table, changes: pa.Table, scope: Scope, metadata: Mapping[str, object]) -> None:
        """Merge changes in one commit; see `plan_merge`."""
        data = in_micros(typed(table, changes))
        log, folder = self._log(table), self._folder(table)
        for left in reversed(range(_TRIES)):
            with log.lock:
                log.follow()
                found = plan_merge(table, data, scope, log.files(), partial(self._columns, table))
                added = [write_file(folder, table, partition, rows) for partition, rows in found.added]
                actions = [*added, *(remove_file(table, file) for file in found.removed)]
                try:
                    commit(folder, log.table.version() + 1, actions, "MERGE", metadata)
                except VersionTakenError:  # another commit came first
                    if not left:
                        raise
                else:
                    log.follow()
                    checkpoint_if_due(log.table)
                    for action, (_, rows) in zip(added, found.added, strict=True):
                        self._cache.put((f"{folder}/{action['add']['path']}",), rows)
                    self._drop_replaced(table, found.removed)
                    return

    def compact(self, table: Table) -> tuple[int, int]:
        """Compact the table; see `lakehouse.delta.local_compaction`. Returns its files before and after."""
        log = self._log(table)
        before = len(self._files(table, None))
        replaced = compact(log, table)
        with log.lock:
            self._drop_replaced(table, replaced)
        return before, len(self._files(table, None))

    def delete(self, table: Table, predicate: str) -> None:
        """Delete rows in one commit, if there are any. Does not overwrite a commit of another process."""
        DeltaTable(self._folder(table)).delete(predicate)

    def vacuum(self, table: Table) -> int:
        """See `lakehouse.delta.local_vacuum.vacuum`."""
        return vacuum(self._folder(table))

    def _drop_replaced(self, table: Table, files: Sequence[File]) -> None:
        """Drop files of the last replacement from the cache; these follow next time: readers may use them."""
        if files:
            self._cache.drop(self._replaced.pop(table.name, []))
            self._replaced[table.name] = [(f"{self._folder(table)}/{file['path']}",) for file in files]

    def _columns(self, table: Table, file: Mapping[str, Any], names: Sequence[str]) -> pa.Table:
        schema = arrow_schema(table)
        return self._read(table, FileGroup.of([file]), pa.schema([schema.field(name) for name in names]))

    def _log(self, table: Table) -> TableLog:
        with self._lock:
            if table.name not in self._logs:
                self._logs[table.name] = TableLog(self._folder(table))
            return self._logs[table.name]

    def _folder(self, table: Table) -> Path:
        return self._warehouse / table.layer / table.short_name

    def _files(self, table: Table, version: int | None) -> list[dict[str, Any]]:
        """The files of a version, from the log."""
        log = self._log(table)
        with log.lock:
            log.follow()
            if version is None or version == log.table.version():
                return log.files()
            if self._old.get(table.name, (None, []))[0] != version:
                before = DeltaTable(self._folder(table), version=version)
                self._old[table.name] = version, files_of(before)
            return self._old[table.name][1]

    def _groups(self, table: Table, version: int | None) -> list[FileGroup]:
        """The files of a version; small files of append-only tables are in groups."""
        files, log = self._files(table, version), self._log(table)
        if table.is_mutable:
            return [FileGroup.of([file]) for file in files]
        with log.lock:
            new, dissolved = log.groups.form(log.files())
            for group in new:
                self._cache.join(self._paths(table, group))
            self._cache.drop(self._paths(table, group) for group in dissolved)
            return log.groups.of_version(files)

    def _paths(self, table: Table, group: FileGroup) -> Paths:
        folder = self._folder(table)
        return tuple(f"{folder}/{path}" for path in group.paths)

    def _read(self, table: Table, group: FileGroup, columns: pa.Schema) -> pa.Table:
        """Columns of files, partition columns included."""
        stored = pa.schema([each for each in columns if each.name not in table.partitioned_by])
        rows = self._cache.read(self._paths(table, group), stored)
        count = rows.num_rows if stored.names else int(group.bounds["num_records"])
        found = {
            each.name: pa.repeat(pa.scalar(group.bounds[f"partition.{each.name}"], each.type), count)
            if each.name in table.partitioned_by
            else rows[each.name]
            for each in columns
        }
        return pa.table(found)


_LOCALS: WeakValueDictionary[Path, LocalTables] = WeakValueDictionary()
_LOCK = threading.Lock()


def local_tables(warehouse: Path) -> LocalTables:
    """The tables of a warehouse; the same object for all jobs of a process, so that they share caches."""
    with _LOCK:
        found = _LOCALS.get(warehouse)
        if found is None:
            found = _LOCALS[warehouse] = LocalTables(warehouse)
        return found
