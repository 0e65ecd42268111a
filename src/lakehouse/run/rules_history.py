"""The rules that jobs have used: ops.rules and ops.rule_uses."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from delta.exceptions import ConcurrentTransactionException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.ops import RULE_USES, RULES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.arrow_frames import rows_of
from lakehouse.run.ledger import now
from lakehouse.run.rules_version import read_rule_texts, rule_files, version_of_texts
from lakehouse.timestamps import EPOCH, from_micros

_TICK = timedelta(microseconds=1)


class _Uses(NamedTuple):
    """What the tables say of uses of rules.

    Args:
        last: when the last one was written.
        version: that jobs follow; None before the first one.
        has_texts: whether the files of a version in question are stored.
    """

    last: datetime = EPOCH
    version: str | None = None
    has_texts: bool = False

    def next_time(self) -> datetime:
        """The current time, but later than all uses before."""
        return max(now(), self.last + _TICK)


class RulesHistory:
    """Records each change of the rules that jobs follow, and each rebuild of a table.

    The files of a version are appended to ops.rules, once. Each version has its own transaction id, which
    Delta keeps with the table: so it is appended once, even if jobs or applications append it at the same
    time, or again after a crash. Later uses are in ops.rule_uses.

    Args:
        lake: the tables, as the job writes them.
        conf: the folder of the rules.
    """

    def __init__(self, lake: Lakehouse, conf: Path) -> None:
        self._lake = lake
        self._conf = conf
        self._seen: list[tuple[str, int, int]] = []
        self._version = ""

    def record(self) -> None:
        """Record the version of the current files, unless jobs follow it already.

        As long as no file has been written since the last call, this checks only their times and sizes.
        """
        stats = [(file.name, file.stat()) for file in rule_files(self._conf)]
        seen = [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]
        if seen == self._seen:
            return
        texts = read_rule_texts(self._conf)
        version = version_of_texts(texts)
        if version != self._version:
            uses = self._uses(version)
            if not uses.has_texts:
                rows = _file_rows(version, texts, uses.next_time())
                with suppress(ConcurrentTransactionException):  # another job has appended the same version
                    self._lake.append_once(RULES.name, rows, f"rules:{version}", 1)
            elif version != uses.version:
                self._append(version, None, None, uses.next_time())
        self._seen, self._version = seen, version

    @contextmanager
    def rebuilding(self, table: str) -> Iterator[None]:
        """Record the rebuild of a table, which the block computes and writes.

        Rules that change before its end count as used after the rebuild.
        """
        self.record()
        version, before = self._version, self._uses(self._version)
        yield
        self._append(version, table, before.last, self._uses(version).next_time())
        self.record()

    def _append(self, version: str, table: str | None, after: datetime | None, at: datetime) -> None:
        columns = zip(RULE_USES.column_names, (version, table, after, at), strict=True)
        self._lake.append(RULE_USES.name, pa.Table.from_pylist([dict(columns)], arrow_schema(RULE_USES)))

    def _uses(self, version: str) -> _Uses:
        """One row on the driver: the last uses, and whether a version is stored."""

        def latest(rules: DataFrame) -> DataFrame:
            no_table = F.lit(None).cast("string").alias("table")
            first = rules.select("rules_version", no_table, F.col("first_seen_at").alias("used_at"))
            later = self._lake.read(RULE_USES.name).select(*first.columns)
            by_jobs = F.when(F.col("table").isNull(), F.col("used_at"))
            return first.union(later).agg(
                F.max("used_at").alias("last"),
                F.max_by("rules_version", by_jobs).alias("version"),
                (F.count_if(F.col("rules_version") == version) > 0).alias("has_texts"),
            )

        found = rows_of(self._lake.find(RULES.name, latest), _Uses._fields)
        return next((_Uses(from_micros(last), *rest) for last, *rest in found if last is not None), _Uses())


def _file_rows(version: str, texts: Mapping[str, str], at: datetime) -> pa.Table:
    rows = [(version, file, text, at) for file, text in texts.items()]
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(RULES.column_names, map(list, columns), strict=True)), arrow_schema(RULES))
