"""Reads and writes published tables. Apart from maintenance, every access to Delta goes through here."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts import LOCKS, TABLES
from lakehouse.contracts.arrow import arrow_type, typed
from lakehouse.delta.commit_log import Commit, read_commits
from lakehouse.delta.compare_and_swap import CompareAndSwap, Transaction
from lakehouse.delta.ddl import DeclaredTables, use_catalog, without_rows
from lakehouse.delta.exclusive import lock_of
from lakehouse.delta.merge import Scope
from lakehouse.delta.spark_tables import SparkTables, checkpointed_columns
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.rows.arrow_times import in_micros
from lakehouse.run.batch_counters import TableCounter
from lakehouse.settings import Settings
from lakehouse.timestamps import from_micros, to_micros


class Lakehouse:
    """The tables of one home or catalog, as one job reads and writes them.

    The metadata of each commit holds the job and its high-water mark: the ingest stamp up to which the
    job's input is in the table. After a crash the job reads its progress from the table itself.

    Args:
        spark: a session that no other job uses.
        settings: the settings in force.
        job: the job's name, written into its commits.
        declared: tables that exist already, if another object knows some.

    Attributes:
        pinned: maps a table's name to the version that is read instead of the latest, or to None.
        counter: counts commits and reads of tables.
        files_per_append: number of files that an append, or a replaced partition, has at most; None: as many
            as the frame has partitions.
    """

    def __init__(
        self, spark: SparkSession, settings: Settings, job: str, declared: DeclaredTables | None = None
    ) -> None:
        self.spark = spark
        self.settings = settings
        self.job = job
        self.pinned: Callable[[str], int | None] = lambda _: None
        self.counter = TableCounter()
        self.files_per_append: int | None = None
        self._swap = CompareAndSwap(self.commits, job) if settings.catalog else None
        self._layer = ""
        self._declared = declared or DeclaredTables(spark, settings)
        if settings.catalog:
            use_catalog(spark, settings.catalog)
        self._tables = SparkTables(spark, settings.catalog)

    def in_session(self, spark: SparkSession) -> "Lakehouse":
        """The same tables, as the same job reads and writes them in another session."""
        return Lakehouse(spark, self.settings, self.job, self._declared)

    def read(self, name: str) -> DataFrame:
        """The table at its latest or pinned version. Without rows if it does not exist; it is not created."""
        self._note(name)
        pinned = self.pinned(name)
        if pinned == 0 or not self._declared.has(name):  # version 0 is the creation of a table
            return without_rows(self.spark, TABLES[name])
        self.counter.add("table_reads")
        return self._tables.read(TABLES[name], pinned)

    def create(self, name: str) -> None:
        """Create a table without rows, unless it exists."""
        self._declared.ensure(name)

    def find(self, name: str, select: Callable[[DataFrame], DataFrame]) -> pa.Table:
        """Rows of a table of `ops`, collected to the driver, with times in microseconds.

        Args:
            name: the table.
            select: selects rows and columns of the table; without rows there is nothing to select.

        Raises:
            ValueError: for tables of other layers, whose rows stay on the executors.
        """
        if TABLES[name].layer != "ops":
            raise ValueError(f"{name}: rows of this table are not collected to the driver")
        found = select(self.read(name))
        if not self._declared.has(name):  # no Spark job, which takes seconds in a new application
            types = [(field.name, arrow_type(field.dataType.simpleString())) for field in found.schema]
            return in_micros(pa.schema(types).empty_table())
        return in_micros(found.toArrow())

    def version(self, name: str) -> int:
        """The version of the table that `read` uses; 0 if it does not exist or was just created."""
        pinned = self.pinned(name)
        return next(self.commits(name), (0,))[0] if pinned is None else pinned

    def append(
        self, name: str, rows: DataFrame | pa.Table, upto: datetime | None = None, **metadata: int
    ) -> None:
        """Append rows in one commit.

        Args:
            name: the table.
            rows: its columns, in any order; an Arrow table for single rows that the driver has made.
            upto: high-water mark of the commit, an ingest stamp.
            metadata: further metadata of the commit, as `last_commit` returns it.
        """
        self._append(name, rows, self._metadata(upto, **metadata))

    def append_once(self, name: str, rows: DataFrame | pa.Table, app: str, version: int) -> None:
        """Append rows in one commit, unless `app` has already committed `version` or a later one."""
        known = self._metadata(None, app=app, version=version)
        self._append(name, rows, known, txnAppId=app, txnVersion=version)

    def overwrite(self, name: str, rows: DataFrame, **metadata: int) -> None:
        """Replace all rows in one commit. High-water marks of other jobs stay in the log."""
        table = TABLES[name]
        self._declared.ensure(name)
        computed = checkpointed_columns(table, rows)

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            written = {**self._metadata(None, **metadata), **more}
            self._tables.overwrite(table, computed, written, transaction, self._folder(name))

        self._commit(name, write)

    def merge_changes(
        self, name: str, changes: DataFrame, upto: datetime, scope: Scope, **metadata: int
    ) -> None:
        """Upsert and delete rows by key, in one commit. Idempotent.

        Args:
            name: the table.
            changes: the table's columns and `DELETED`, which is true for keys to be deleted; the others are
                upserted. Checkpointed, each key once.
            upto: high-water mark of the commit, an ingest stamp.
            scope: a condition that holds for every affected row of the table, to prune files.
            metadata: further metadata of the commit.
        """

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            written = {**self._metadata(upto, **metadata), **more}
            files = self.files_per_append
            self._tables.merge(TABLES[name], changes, scope, written, transaction, files)

        self._commit(name, write)

    def high_water_mark(self, name: str) -> datetime | None:
        """The ingest stamp up to which this job's input is in a table, from the metadata of its commits."""
        found = self.last_commit(name).get("upto")
        return from_micros(found) if found is not None else None

    def last_commit(self, name: str) -> Mapping[str, Any]:
        """Metadata of this job's last commit to a table, as `read` sees it; empty if there is none."""
        upto = self.pinned(name)
        self._note(name)
        seen = (each for version, each in self.commits(name) if upto is None or version <= upto)
        last = next((each for each in seen if each.get("job") == self.job), {})
        if self._swap and upto is None and TABLES[name].layer in LOCKS:
            self._swap.rely_on(name, last)
        return last

    def commits(self, name: str) -> Iterator[Commit]:
        """Version and metadata of each commit to a table, the latest first; none if it does not exist."""
        return read_commits(self.spark, name, self._folder(name)) if self._declared.has(name) else iter(())

    def has_commit_after(self, name: str, stamp: datetime) -> bool:
        """Whether rows with a later ingest stamp may have been committed.

        The latest commit with metadata says so by its high-water mark; one without a mark is a rebuild.
        """
        latest = next((metadata for _, metadata in self.commits(name) if metadata), None)
        if latest is None:
            return self.version(name) > 0
        return "upto" not in latest or latest["upto"] > to_micros(stamp)

    @contextmanager
    def exclusive(self, *names: str) -> Iterator[None]:
        """Lock tables of one layer that several jobs of this application rewrite, in this order.

        Between applications on a catalog, `CompareAndSwap` detects conflicts.
        """
        with ExitStack() as locks:
            for name in names:
                locks.enter_context(lock_of(self.settings.warehouse, name))
            if self._swap:
                self._swap.begin()
                self._layer = TABLES[names[0]].layer
            yield

    def _append(
        self, name: str, rows: DataFrame | pa.Table, metadata: Mapping[str, object], **options: str | int
    ) -> None:
        self._declared.ensure(name)
        table = TABLES[name]
        frame = rows if isinstance(rows, DataFrame) else to_frame(self.spark, typed(table, rows))
        frame = frame if self.files_per_append is None else frame.coalesce(self.files_per_append)

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            self._tables.append(table, frame, {**metadata, **more}, {**options, **transaction})

        self._commit(name, write)

    def _folder(self, name: str) -> Path | None:
        return None if self.settings.catalog else self.settings.warehouse.joinpath(*name.split("."))

    def _note(self, name: str) -> None:
        if self._swap and TABLES[name].layer == self._layer and self.pinned(name) is None:
            self._swap.note(name)

    def _commit(self, name: str, write: Callable[[Transaction, Mapping[str, object]], None]) -> None:
        """Commit; in mutable layers of a catalog, only if no other application has since the read."""
        self._declared.ensure(name)
        self.counter.add("commits")
        if self._swap and TABLES[name].layer in LOCKS:
            self._swap.commit(name, write)
        else:
            write({}, {})

    def _metadata(self, upto: datetime | None, **more: object) -> dict[str, object]:
        return {"job": self.job, **({} if upto is None else {"upto": to_micros(upto)}), **more}
