"""Reading and writing the published tables; but for compaction, nothing else in the house touches Delta."""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from delta.exceptions import MetadataChangedException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.commits import Commit, read_commits
from lakehouse.compare_and_swap import CompareAndSwap, Transaction
from lakehouse.contracts import LOCKS, TABLES
from lakehouse.declaring import DeclaredTables, place_of
from lakehouse.frames import ROWS_OF_A_FILE, ROWS_OF_A_SWAPPED_FILE, in_stretches, settle
from lakehouse.instants import from_micros, to_micros
from lakehouse.merging import GONE, all_of, merge_changes
from lakehouse.settings import Settings
from lakehouse.telling import Telling

_LOCKS: dict[str, threading.RLock] = defaultdict(threading.RLock)
_REWRITES: Counter[str] = Counter()


class Lakehouse:
    """The tables of one home, seen by one job.

    Each commit says, in its own metadata, which job made it and up to which ingest stamp its input
    went. So a table knows by itself how far it has been filled, and a job that starts again after a
    crash asks the table, not a file beside it.

    Args:
        spark: a session of the job's own, since some settings of a commit belong to the session.
        settings: the settings in force.
        job: the job's name, written into its commits.

    Attributes:
        standing: what is read instead of a table, if not None.
        in_one_file: whether rows that are added are few: each file costs whoever reads the table.
    """

    def __init__(self, spark: SparkSession, settings: Settings, job: str) -> None:
        self.spark = spark
        self.settings = settings
        self.job = job
        self.standing: Callable[[str], DataFrame | None] = lambda _: None
        self.in_one_file = False
        self._telling = Telling(spark)
        self._swap = CompareAndSwap(self.commits, job) if settings.catalog else None
        self._layer = ""
        self._declared = DeclaredTables(spark, settings)
        if settings.catalog:  # by SQL: the API would load the catalog under whichever session is active
            spark.sql(f"SET CATALOG `{settings.catalog}`")
        spark.conf.set("spark.databricks.delta.replaceWhere.constraintCheck.enabled", "false")
        spark.conf.set("spark.databricks.delta.merge.materializeSource", "none")  # `swap` settles it

    def read(self, name: str) -> DataFrame:
        """The table as it is now, or as `standing` has it; created empty if it wasn't there."""
        self._declared.ensure(name)
        self._note(name)
        stood = self.standing(name)
        return self.spark.table(name) if stood is None else stood

    def is_there(self, name: str) -> bool:
        """Whether a table has been made yet."""
        return not place_of(self.spark, self.settings, name)[0]

    def append(self, name: str, rows: DataFrame, upto: datetime | None = None, **told: int) -> None:
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
        metadata = self._metadata(None, app=app, version=version)
        self._write(name, rows, "append", metadata, txnAppId=app, txnVersion=version)

    def replace_where(self, name: str, condition: str, rows: DataFrame, upto: datetime | None = None) -> None:
        """Swap the rows that meet a condition for others, and add the rest, in one commit.

        Args:
            name: the table.
            condition: SQL: what goes.
            rows: what comes, whether it meets the condition or not.
            upto: ingest stamp that the table's input is done up to with this commit.
        """
        self._write(name, rows, "overwrite", self._metadata(upto), replaceWhere=condition)

    def overwrite(self, name: str, rows: DataFrame, **told: int) -> None:
        """Swap all rows for others, in one commit. What other jobs wrote of theirs stays to be found.

        Files hold stretches of time, as they do where rows come in bit by bit: so they can be left out.
        """
        self._declared.ensure(name)
        table = TABLES[name]
        laid_out = settle(rows.select(*table.column_names))
        most = ROWS_OF_A_SWAPPED_FILE if table.is_swapped else ROWS_OF_A_FILE
        if table.event_time:
            laid_out = in_stretches(laid_out, table.event_time, most)

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            metadata = json.dumps({**self._metadata(None, **told), **more})
            writer = laid_out.write.format("delta").mode("overwrite").options(**transaction)
            writer = writer.option("userMetadata", metadata)
            if self.settings.catalog:
                writer.saveAsTable(name)
            else:
                layer, short = name.split(".")
                writer.save(str(self.settings.warehouse / layer / short))

        self._commit(name, write)
        _REWRITES[self._key(name)] += 1
        self._declared.is_empty.discard(name)

    def swap(
        self, name: str, gone: DataFrame | None, rows: DataFrame, upto: datetime, scope: Column, **told: int
    ) -> None:
        """Take rows out and put rows in, in one commit. Doing it again changes nothing.

        Args:
            name: the table.
            gone: key columns of what goes; a key that is in `rows` too is replaced. None: nothing else goes.
            rows: what comes.
            upto: ingest stamp that the table's input is done up to with this commit.
            scope: a condition on the table, as `t`, that every key concerned meets: it prunes files.
            told: what else the commit says.
        """
        table = TABLES[name]
        changes = rows.select(*table.column_names, F.lit(False).alias(GONE))
        if gone is not None:
            same = [F.col(f"a.{key}").eqNullSafe(F.col(f"b.{key}")) for key in table.key]
            leaving = gone.select(*table.key).alias("a").join(rows.alias("b"), all_of(same), "left_anti")
            changes = changes.unionByName(leaving.withColumn(GONE, F.lit(True)), allowMissingColumns=True)
        self.apply(name, settle(changes), upto, scope, **told)

    def apply(self, name: str, changes: DataFrame, upto: datetime, scope: Column, **told: int) -> None:
        """Make changes to rows, in one commit. Doing it again changes nothing.

        Args:
            name: the table.
            changes: its columns and `GONE`: whether the row with that key goes; else it comes, or replaces
                the one with its key. Settled, each key once.
            upto: ingest stamp that the table's input is done up to with this commit.
            scope: as of `swap`.
            told: what else the commit says.
        """
        self._declared.ensure(name)

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            metadata = json.dumps({**self._metadata(upto, **told), **more})
            with self._telling.say(metadata, transaction):
                merge_changes(self.spark, TABLES[name], changes, scope)

        self._commit(name, write)
        self._declared.is_empty.discard(name)
        _REWRITES[self._key(name)] += 1

    def filled_upto(self, name: str) -> datetime | None:
        """The ingest stamp up to which this job has filled a table, by the table's own commits."""
        found = self.last_commit(name).get("upto")
        return from_micros(found) if found is not None else None

    def last_commit(self, name: str) -> Mapping[str, Any]:
        """What this job wrote of its last commit to a table; empty if it made none."""
        self._declared.ensure(name)
        self._note(name)
        last: Mapping[str, Any] = {}
        if name not in self._declared.is_empty:
            last = next((told for _, told in self.commits(name) if told.get("job") == self.job), {})
        if self._swap and TABLES[name].layer in LOCKS:
            self._swap.rely_on(name, last)
        return last

    def commits(self, name: str) -> Iterator[Commit]:
        """Version of each commit to a table, and what it says of itself; the latest first."""
        self._declared.ensure(name)
        layer, short = name.split(".")
        folder = None if self.settings.catalog else self.settings.warehouse / layer / short
        return read_commits(self.spark, name, folder)

    @contextmanager
    def exclusive(self, name: str) -> Iterator[None]:
        """A lock over a table that several jobs of this application rewrite.

        Other applications on a catalog are kept out by their commits: see `CompareAndSwap`.
        """
        with _LOCKS[self._key(name)]:
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
        return _REWRITES[self._key(name)]

    def _write(
        self, name: str, rows: DataFrame, mode: str, metadata: Mapping[str, object], **options: str | int
    ) -> None:
        self._declared.ensure(name)
        rows = rows.select(*TABLES[name].column_names)
        writer = (rows.coalesce(1) if self.in_one_file else rows).write.format("delta").mode(mode)

        def write(transaction: Transaction, more: Mapping[str, object]) -> None:
            described = writer.options(userMetadata=json.dumps({**metadata, **more}))
            described = described.options(**options, **transaction)
            try:
                described.saveAsTable(name)
            except MetadataChangedException:  # by another job; nothing was committed
                described.saveAsTable(name)

        self._commit(name, write)
        self._declared.is_empty.discard(name)
        if mode != "append":
            _REWRITES[self._key(name)] += 1

    def _key(self, name: str) -> str:
        return f"{self.settings.warehouse}:{name}"

    def _note(self, name: str) -> None:
        if self._swap and TABLES[name].layer == self._layer:
            self._swap.note(name)

    def _commit(self, name: str, write: Callable[[Transaction, Mapping[str, object]], None]) -> None:
        """Commit; to what jobs rewrite in a catalog only if no other application has changed it."""
        if self._swap and TABLES[name].layer in LOCKS:
            self._swap.commit(name, write)
        else:
            write({}, {})

    def _metadata(self, upto: datetime | None, **more: object) -> dict[str, object]:
        reached = {} if upto is None else {"upto": to_micros(upto)}
        return {"job": self.job, **reached, **more}
