"""Traffic: what happened in each window of time, kept up to date by differences."""

from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.window_rows import (
    CHANGES,
    DIFFERENCES,
    MINUTE,
    TABLE_CHANGES,
    fold_differences,
    fold_revisions,
    fold_table_changes,
)
from lakehouse.changed_rows import write_changes
from lakehouse.contracts.gold import TRAFFIC, TRAFFIC_CHANGES, VISITOR_MINUTES
from lakehouse.grouped import Computed, Groups
from lakehouse.instants import EPOCH, to_micros
from lakehouse.lookup import Lookup
from lakehouse.rows import Rows, Source, computed, is_empty, union, with_key, with_number
from lakehouse.tables import Lakehouse
from lakehouse.time_pruner import TimePruner

_FEW = 2_000_000
"""Rows of gold.visitor_minutes that are read on the driver."""

_LONGEST = timedelta(hours=26)  # a day on which clocks are put back, and an hour


class _Progress(NamedTuple):
    """Metadata of the last commit to gold.traffic_changes or gold.traffic.

    Args:
        sequence: of the changes that it wrote or applied.
        minutes: sequence of gold.visitor_minutes that they go up to.
        watermark: as of which windows are complete, in microseconds.
    """

    sequence: int = 0
    minutes: int = 0
    watermark: int = to_micros(EPOCH)


class Traffic:
    """Keeps gold.traffic and gold.traffic_changes in step with gold.visitor_minutes.

    Changes are committed first, and applied to gold.traffic then. Each commit says how far it goes, so that
    after a crash none is lost or applied twice.

    Args:
        lake: the tables, as publish sees them.
        zone: the time zone that days go by.
    """

    def __init__(self, lake: Lakehouse, zone: str) -> None:
        self._lake = lake
        self._zone = zone

    def update(self, upto: datetime, watermark: datetime) -> None:
        """Bring in what is new.

        Args:
            upto: ingest stamp that gold is processed through.
            watermark: how far the results are complete.
        """
        done = self._progress(TRAFFIC_CHANGES.name)
        if self._progress(TRAFFIC.name).sequence < done.sequence:
            wanted = Lookup(TRAFFIC_CHANGES.column_names, above=("sequence", done.sequence - 1))
            source = Source.of(self._lake, TRAFFIC_CHANGES.name, wanted, _FEW)
            self._apply(source, source.look_up(TRAFFIC_CHANGES.name, wanted), upto, done.sequence)
        wanted = Lookup(("visitor_id", "minute"), above=("sequence", done.minutes))
        source = Source.of(self._lake, VISITOR_MINUTES.name, wanted, _FEW)
        differences = self._differences(source, wanted, done.minutes)
        rows = self._affected_rows(source, differences, done.watermark, watermark)
        known = self._progress(VISITOR_MINUTES.name).sequence
        self._write(source, rows, differences, _Progress(done.sequence, known, to_micros(watermark)), upto)

    def differences(self) -> DataFrame:
        """What all minutes come to, as differences from nothing."""
        minutes = self._lake.read(VISITOR_MINUTES.name).where("visitor_id IS NOT NULL")
        fold = partial(fold_differences, zone=self._zone, known=-1)
        return Groups({"minute": with_key(minutes, "visitor_id", MINUTE)}, fold, DIFFERENCES).spread(
            self._lake.spark
        )

    def replace(self, differences: DataFrame, upto: datetime, watermark: datetime) -> None:
        """Put other windows in the place of all that there are, by changes from those.

        Args:
            differences: as `differences` gives them.
            upto: ingest stamp that gold is processed through.
            watermark: how far the results are complete.
        """
        done = self._progress(TRAFFIC_CHANGES.name)
        known = self._progress(VISITOR_MINUTES.name).sequence
        new = _Progress(done.sequence, known, to_micros(watermark))
        source = Source(self._lake, on_driver=False)
        self._write(source, self._lake.read(TRAFFIC.name), differences, new, upto, is_total=True)

    def _progress(self, table: str) -> _Progress:
        found = self._lake.last_commit(table)
        return _Progress(**{name: int(str(found[name])) for name in _Progress._fields if name in found})

    def _differences(self, source: Source, wanted: Lookup, known: int) -> Rows:
        """What minutes behind a sequence change."""
        fresh = computed(source.look_up(VISITOR_MINUTES.name, wanted), wanted.columns)
        theirs = self._minutes_near(source, fresh)
        fold = partial(fold_differences, zone=self._zone, known=known)
        groups = Groups({"minute": with_key(theirs, "visitor_id", MINUTE)}, fold, DIFFERENCES)
        return Computed(groups, self._lake.spark, source.on_driver).all_rows()

    def _minutes_near(self, source: Source, fresh: Rows) -> Rows:
        """All minutes of visitors with new ones that may share a window with a new one."""
        name, columns = VISITOR_MINUTES.name, ("visitor_id", *MINUTE)
        near = _pruner(fresh, "minute", _LONGEST)
        if isinstance(fresh, pa.Table):
            visitors = set(fresh["visitor_id"].to_pylist()) - {None}
            return source.look_up(name, Lookup(columns, near, "minute", key=("visitor_id", visitors)))
        new = F.broadcast(fresh.select("visitor_id").distinct())
        return self._lake.read(name).where(near.contains("minute")).join(new, "visitor_id", "left_semi")

    def _affected_rows(self, source: Source, differences: Rows, before: int, watermark: datetime) -> Rows:
        """Rows of gold.traffic that differ, or that the watermark has passed since a commit."""
        passed = TimePruner.of_spans([(before + 1, to_micros(watermark))])
        columns = TRAFFIC.column_names
        ended = source.look_up(TRAFFIC.name, Lookup(columns, passed, "window_end"))
        starts = _pruner(differences, "window_start", timedelta(0))
        return union(source.look_up(TRAFFIC.name, Lookup(columns, starts, "window_start")), ended)

    def _write(
        self,
        source: Source,
        rows: Rows,
        differences: Rows,
        new: _Progress,
        upto: datetime,
        is_total: bool = False,
    ) -> None:
        """Commit the changes, and apply them."""
        kinds = {
            "row": with_key(rows, "window_start", TRAFFIC.column_names),
            "difference": with_key(differences, "window_start", DIFFERENCES.names),
        }
        fold = partial(fold_revisions, watermark=new.watermark, is_total=is_total)
        changes = Computed(Groups(kinds, fold, CHANGES), self._lake.spark, source.on_driver).all_rows()
        if is_empty(changes):
            return
        sequence = new.sequence + 1
        stamped = with_number(_with_time(changes, "changed_at", upto), "sequence", sequence)
        metadata = new._replace(sequence=sequence)._asdict()
        self._lake.append(TRAFFIC_CHANGES.name, stamped, upto, **metadata)
        self._apply(source, stamped, upto, sequence)

    def _apply(self, source: Source, changes: Rows, upto: datetime, sequence: int) -> None:
        kinds = {"change": with_key(changes, "window_start", CHANGES.names)}
        groups = Groups(kinds, fold_table_changes, TABLE_CHANGES)
        rows = Computed(groups, self._lake.spark, source.on_driver).all_rows()
        write_changes(self._lake, TRAFFIC.name, rows, upto, sequence=sequence)


def _pruner(rows: Rows, time: str, margin: timedelta) -> TimePruner:
    """Around the times of some rows."""
    if isinstance(rows, DataFrame):
        return TimePruner.of_rows(rows, time, margin)
    times = pc.unique(rows[time]).cast(pa.int64()).to_pylist()
    return TimePruner.of_spans(((at, at) for at in times), margin)


def _with_time(rows: Rows, name: str, at: datetime) -> Rows:
    """The same with a column that has one time in all rows."""
    if isinstance(rows, DataFrame):
        return rows.withColumn(name, F.lit(at))
    return with_number(rows, name, to_micros(at))
