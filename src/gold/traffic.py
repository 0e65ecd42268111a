"""Traffic: what happened in each window of time, kept up to date by differences."""

from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.rule_numbers import in_micros
from folds.windows.revisions import Progress
from folds.windows.window_rules import STANDARD, WindowRules, from_json, load_window_rules, to_json
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
        windows: rules of the windows that the table has, as text.
    """

    sequence: int = 0
    minutes: int = 0
    watermark: int = to_micros(EPOCH)
    windows: str = to_json(STANDARD)


_COUNTS = ("sequence", "minutes", "watermark")


class Traffic:
    """Keeps gold.traffic and gold.traffic_changes in step with gold.visitor_minutes.

    Changes are committed first, and applied to gold.traffic then. Each commit says how far it goes, so that
    after a crash none is lost or applied twice.

    Args:
        lake: the tables, as publish sees them.
        zone: the time zone that days go by.
        conf: the folder of rules.
    """

    def __init__(self, lake: Lakehouse, zone: str, conf: Path) -> None:
        self._lake = lake
        self._zone = zone
        self._conf = conf

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
        rules = from_json(done.windows)
        differences = self._differences(source, wanted, rules, done.minutes)
        new = done._replace(minutes=self._known_minutes(), watermark=to_micros(watermark))
        rows = self._affected_rows(source, differences, done.watermark, new.watermark, rules)
        self._write(source, rows, differences, done.watermark, new, upto)

    def differences(self) -> DataFrame:
        """What all minutes come to, as differences from nothing."""
        minutes = self._lake.read(VISITOR_MINUTES.name).where("visitor_id IS NOT NULL")
        rules = load_window_rules(self._conf)
        fold = partial(fold_differences, rules=rules, zone=self._zone, known=-1)
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
        rules = to_json(load_window_rules(self._conf))
        new = _Progress(done.sequence, self._known_minutes(), to_micros(watermark), rules)
        source = Source(self._lake, on_driver=False)
        rows = self._lake.read(TRAFFIC.name)
        self._write(source, rows, differences, done.watermark, new, upto, is_total=True)

    def _progress(self, table: str) -> _Progress:
        """Of the last commit; a table without one gets the windows of conf/windows.yml."""
        found = self._lake.last_commit(table)
        if "sequence" not in found:
            return _Progress(windows=to_json(load_window_rules(self._conf)))
        first = _Progress()
        sequence, minutes, watermark = (int(str(found.get(name, getattr(first, name)))) for name in _COUNTS)
        return _Progress(sequence, minutes, watermark, str(found.get("windows", first.windows)))

    def _known_minutes(self) -> int:
        return int(str(self._lake.last_commit(VISITOR_MINUTES.name).get("sequence", 0)))

    def _differences(self, source: Source, wanted: Lookup, rules: WindowRules, known: int) -> Rows:
        """What minutes behind a sequence change."""
        fresh = computed(source.look_up(VISITOR_MINUTES.name, wanted), wanted.columns)
        theirs = self._minutes_near(source, fresh)
        fold = partial(fold_differences, rules=rules, zone=self._zone, known=known)
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

    def _affected_rows(
        self, source: Source, differences: Rows, before: int, watermark: int, rules: WindowRules
    ) -> Rows:
        """Rows of gold.traffic that differ, that the watermark has passed, or whose trigger it may fire."""
        is_timed = any(rule.trigger and rule.trigger.every for rule in rules.values())
        latest = watermark + in_micros(_LONGEST) if is_timed else watermark
        passed = TimePruner.of_spans([(before + 1, latest)])
        columns = TRAFFIC.column_names
        ended = source.look_up(TRAFFIC.name, Lookup(columns, passed, "window_end"))
        starts = _pruner(differences, "window_start", timedelta(0))
        return union(source.look_up(TRAFFIC.name, Lookup(columns, starts, "window_start")), ended)

    def _write(
        self,
        source: Source,
        rows: Rows,
        differences: Rows,
        before: int,
        new: _Progress,
        upto: datetime,
        is_total: bool = False,
    ) -> None:
        """Commit the changes, and apply them."""
        kinds = {
            "row": with_key(rows, "window_start", TRAFFIC.column_names),
            "difference": with_key(differences, "window_start", DIFFERENCES.names),
        }
        watermark, rules = Progress(before, new.watermark), from_json(new.windows)
        fold = partial(fold_revisions, watermark=watermark, rules=rules, is_total=is_total)
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
