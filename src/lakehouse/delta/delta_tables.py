"""Reading and writing the published tables; but for compaction, nothing else in the house touches Delta."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts import LOCKS, TABLES
from lakehouse.contracts.arrow import typed
from lakehouse.delta.commit_log import Commit, read_commits
from lakehouse.delta.compare_and_swap import CompareAndSwap, Transaction
from lakehouse.delta.ddl import DeclaredTables
from lakehouse.delta.local_access import LocalAccess, LocalTables
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.delta.spark_tables import SparkTables, settled_columns
from lakehouse.delta.table_locks import TableLocks
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.rows.arrow_times import in_micros
from lakehouse.run.batch_counters import TableCounter
from lakehouse.settings import Settings
from lakehouse.timestamps import from_micros, to_micros


class Lakehouse:
    """The tables of one home, seen by one job.

    Each commit says, in its own metadata, which job made it and up to which ingest stamp its input
    went. So a table knows by itself how far it has been filled, and a job that starts again after a
    crash asks the table, not a file beside it.

    Rows that are given as an Arrow table are few: in a warehouse of its own they are written without Spark.

    Args:
        spark: a session of the job's own, since some settings of a commit belong to the session.
        settings: the settings in force.
        job: the job's name, written into its commits.

    Attributes:
        pinned: by name of a table, the version that is read instead of the latest, if there is one.
        counter: commits made and tables looked up.
        local: what reads and writes tables without Spark, if they can be.
        in_one_file: whether rows that are added are few: each file costs whoever reads the table.
    """

    def __init__(self, spark: SparkSession, settings: Settings, job: str) -> None:
        self.spark = spark
        self.settings = settings
        self.job = job
        self.pinned: Callable[[str], int | None] = lambda _: None
        self.counter = TableCounter()
        self.in_one_file = False
        self._swap = CompareAndSwap(self.commits, job) if settings.catalog else None
        self._layer = ""
        self._locks = TableLocks(settings.warehouse)
        self.local = LocalAccess(settings)
        self._declared = DeclaredTables(spark, settings, self.local)
        if settings.catalog:  # by SQL: the API would load the catalog under whichever session is active
            spark.sql(f"SET CATALOG `{settings.catalog}`")
        self._tables = SparkTables(spark)

    def read(self, name: str) -> DataFrame:
        """The table as it is now, or as `pinned` has it; created empty if it wasn't there."""
        self._look_up(name)
        return self._in_spark(name).read(TABLES[name], self.pinned(name))

    def find(self, name: str, wanted: Lookup) -> pa.Table:
        """Rows of the table as `read` has it, on the driver, times in microseconds."""
        self._declared.ensure(name)
        local = self.local.of(name)
        if local is None:
            return in_micros(wanted.of_frame(self.read(name)).toArrow())
        self._look_up(name)
        return local.find(TABLES[name], wanted, self.pinned(name))

    def version(self, name: str) -> int:
        """The version of the table that `read` and `find` have."""
        pinned = self.pinned(name)
        return next(self.commits(name))[0] if pinned is None else pinned

    def append(
        self, name: str, rows: DataFrame | pa.Table, upto: datetime | None = None, **told: int
    ) -> None:
        """Add rows in one commit.

        Args:
            name: the table.
            rows: its columns, in any order.
            upto: ingest stamp that the table's input is done up to with this commit.
            told: what else the commit says, to be found by `last_commit`.
        """
        self._write(name, rows, "append", self._metadata(upto, **told))

    def append_once(self, name: str, rows: DataFrame, app: str, version: int) -> None:
        """Add rows in one commit, unless `app` has committed `version` or a later one already."""
        known = self._metadata(None, app=app, version=version)
        self._write(name, rows, "append", known, txnAppId=app, txnVersion=version)

    def replace_where(self, name: str, condition: str, rows: DataFrame) -> None:
        """Put rows in the place of those that meet a condition, in SQL, in one commit."""
        self._write(name, rows, "overwrite", self._metadata(None), replaceWhere=condition)
        self._locks.note_rewrite(name)

    def overwrite(self, name: str, rows: DataFrame, **told: int) -> None:
        """Swap all rows for others, in one commit. What other jobs wrote of theirs stays to be found."""
        table = TABLES[name]
        self._declared.ensure(name)
        laid_out = settled_columns(table, rows)

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            metadata = {**self._metadata(None, **told), **more}
            self._in_spark(name).overwrite(table, laid_out, metadata, transaction, self._folder(name))

        self._commit(name, write)
        self._locks.note_rewrite(name)

    def apply(
        self, name: str, changes: DataFrame | pa.Table, upto: datetime, scope: Scope, **told: int
    ) -> None:
        """Make changes to rows, in one commit. Doing it again changes nothing.

        Args:
            name: the table.
            changes: its columns and `GONE`: whether the row with that key goes; else it comes, or replaces
                the one with its key. Settled, each key once.
            upto: ingest stamp that the table's input is done up to with this commit.
            scope: what every key concerned meets in the table: it prunes files.
            told: what else the commit says.
        """
        table, local = TABLES[name], self._local_for(name, changes)

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            metadata = {**self._metadata(upto, **told), **more}
            if local is not None:
                with self._apart_from_compaction(name):
                    local.merge(table, changes, scope, metadata)
            else:
                self._in_spark(name).merge(table, self._frame(name, changes), scope, metadata, transaction)

        self._commit(name, write)
        self._locks.note_rewrite(name)

    def filled_upto(self, name: str) -> datetime | None:
        """The ingest stamp up to which this job has filled a table, by the table's own commits."""
        found = self.last_commit(name).get("upto")
        return from_micros(found) if found is not None else None

    def last_commit(self, name: str) -> Mapping[str, Any]:
        """What this job wrote of its last commit to a table; empty if it made none."""
        self._declared.ensure(name)
        self._note(name)
        commits = () if name in self._declared.is_empty else self.commits(name)
        last: Mapping[str, Any] = next((each for _, each in commits if each.get("job") == self.job), {})
        if self._swap and TABLES[name].layer in LOCKS:
            self._swap.rely_on(name, last)
        return last

    def commits(self, name: str) -> Iterator[Commit]:
        """Version of each commit to a table, and what it says of itself; the latest first."""
        self._declared.ensure(name)
        return read_commits(self.spark, name, self._folder(name))

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """A lock over a table that several jobs of this application rewrite.

        Other applications on a catalog are kept out by their commits: see `CompareAndSwap`.
        """
        with self._locks.lock(name):
            if self._swap:
                self._swap.begin()
                self._layer = TABLES[name].layer
            yield

    def rewrites(self, name: str) -> int:
        """How often this application has changed a table in other ways than adding rows.

        What a job keeps of the table in memory holds as long as this stays the same.
        """
        if self._swap:
            return self._swap.version(name, by_others=True)
        return self._locks.rewrites(name)

    def _write(
        self,
        name: str,
        rows: DataFrame | pa.Table,
        mode: str,
        metadata: Mapping[str, object],
        **options: str | int,
    ) -> None:
        table, local = TABLES[name], self._local_for(name, rows)

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            said = {**metadata, **more}
            if local is not None:
                with self._apart_from_compaction(name):
                    local.append(table, rows, said)
            else:
                frame = self._frame(name, rows)
                few = frame.coalesce(1) if self.in_one_file else frame
                self._in_spark(name).write(table, few, mode, said, {**options, **transaction})

        self._commit(name, write)

    def _in_spark(self, name: str) -> SparkTables:
        self._declared.register(name)
        return self._tables

    def _apart_from_compaction(self, name: str) -> AbstractContextManager[object]:
        """Spark overwrites a commit made at the same moment; who rewrites a layer has locked it."""
        return nullcontext() if TABLES[name].layer in LOCKS else self._locks.lock(name)

    def _local_for(self, name: str, rows: DataFrame | pa.Table) -> LocalTables | None:
        self._declared.ensure(name)
        return None if isinstance(rows, DataFrame) else self.local.of(name)

    def _frame(self, name: str, rows: DataFrame | pa.Table) -> DataFrame:
        return rows if isinstance(rows, DataFrame) else to_frame(self.spark, typed(TABLES[name], rows))

    def _look_up(self, name: str) -> None:
        self._declared.ensure(name)
        self._note(name)
        self.counter.add("table_reads")

    def _folder(self, name: str) -> Path | None:
        return None if self.settings.catalog else self.settings.warehouse.joinpath(*name.split("."))

    def _note(self, name: str) -> None:
        if self._swap and TABLES[name].layer == self._layer:
            self._swap.note(name)

    def _commit(self, name: str, write: Callable[[Transaction, Mapping[str, object]], None]) -> None:
        """Commit; to what jobs rewrite in a catalog only if no other application has changed it."""
        self._declared.ensure(name)
        self.counter.add("commits")
        if self._swap and TABLES[name].layer in LOCKS:
            self._swap.commit(name, write)
        else:
            write({}, {})
        self._declared.is_empty.discard(name)

    def _metadata(self, upto: datetime | None, **more: object) -> dict[str, object]:
        return {"job": self.job, **({} if upto is None else {"upto": to_micros(upto)}), **more}
