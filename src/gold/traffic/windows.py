"""Traffic: metrics by window, updated by differences."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.windows.count_windows import CountWindows
from folds.windows.revisions import Progress
from folds.windows.window_rules import (
    STANDARD,
    WindowRules,
    events_of,
    from_json,
    load_window_rules,
    to_json,
    windows_of,
)
from gold.traffic.closed_windows import ClosedWindows, last_ends
from gold.traffic.differences import DIFFERENCES, MINUTE, window_differences
from gold.traffic.minute_rows import (
    earliest_minute,
    longest_span,
    of_visitors,
    pruner_of,
)
from gold.traffic.window_rows import CHANGES, fold_revisions
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.write_changes import write_changes
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.driver_or_spark import Rows, Source, as_frame, computed, union, with_key
from lakehouse.rows.grouped import Computed, Groups
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import EPOCH, LAST, to_micros

_FEW = 2_000_000
"""Maximum number of rows of a table that are read on the driver."""


class _TrafficProgress(NamedTuple):
    """Metadata of the last commit to gold.traffic.

    Args:
        minutes: sequence of gold.visitor_minutes that is processed through.
        watermark: the watermark, in microseconds; windows that end by it are complete.
        windows: rules of the table's windows, as JSON.
        ends: by kind of window by number of events, the end of the last closed one, as JSON.
    """

    minutes: int = 0
    watermark: int = to_micros(EPOCH)
    windows: str = to_json(STANDARD)
    ends: str = "{}"


class Traffic:
    """Updates gold.traffic from gold.visitor_minutes, in one commit.

    Metadata of the commit has the progress, so after a crash no minute is lost or counted twice.

    Args:
        lake: the tables, as publish reads them.
        zone: the business time zone.
        conf: the folder with the rules.
    """

    def __init__(self, lake: Lakehouse, zone: str, conf: Path) -> None:
        self._lake = lake
        self._zone = zone
        self._conf = conf

    def update(self, upto: datetime, watermark: datetime) -> None:
        """Apply new minutes and the watermark.

        Args:
            upto: high-water mark of gold, an ingest stamp.
            watermark: the watermark that results are complete up to.
        """
        done = self._progress()
        if done is None:
            self.replace(checkpoint(self.differences(watermark)), upto, watermark)
            return
        wanted = Lookup(("visitor_id", "minute"), above=("sequence", done.minutes))
        source = Source.of(self._lake, VISITOR_MINUTES.name, wanted, _FEW)
        rules = from_json(done.windows)
        closed = ClosedWindows(self._lake, events_of(rules), json.loads(done.ends))
        differences = self._differences(source, wanted, rules, closed, done.minutes)
        if closing := closed.close(source, to_micros(watermark)):
            differences = union(differences, self._held_by(source, closing))
        ends = json.dumps(closed.ends)
        new = done._replace(minutes=self._known_minutes(), watermark=to_micros(watermark), ends=ends)
        rows = self._affected_rows(source, differences, done.watermark, new.watermark, rules)
        self._write(source, rows, differences, done.watermark, new, upto)

    def differences(self, watermark: datetime) -> DataFrame:
        """All minutes as differences from an empty table.

        Args:
            watermark: the watermark that results are complete up to.
        """
        minutes = self._lake.read(VISITOR_MINUTES.name).where("visitor_id IS NOT NULL")
        rules = load_window_rules(self._conf)
        closed = ClosedWindows(self._lake, events_of(rules), {}).close_all(minutes, to_micros(watermark))
        windows = (*windows_of(rules, self._zone), *closed)
        return as_frame(self._lake.spark, window_differences(minutes, windows, known=-1))

    def replace(self, differences: DataFrame, upto: datetime, watermark: datetime) -> None:
        """Replace all windows.

        Args:
            differences: the result of the method `differences`.
            upto: high-water mark of gold, an ingest stamp.
            watermark: the watermark that results are complete up to.
        """
        rules = load_window_rules(self._conf)
        ends = json.dumps(last_ends(differences, list(events_of(rules))))
        new = _TrafficProgress(self._known_minutes(), to_micros(watermark), to_json(rules), ends)
        source = Source(self._lake, on_driver=False)
        rows = self._lake.read(TRAFFIC.name)
        self._write(source, rows, differences, new.watermark, new, upto, is_total=True)
        if self._progress() != new:  # no row has changed
            nothing = arrow_schema(TRAFFIC).empty_table()
            self._lake.append(TRAFFIC.name, nothing, upto, **new._asdict())

    def _progress(self) -> _TrafficProgress | None:
        """Metadata of the last commit; a new table gets the windows of conf/windows.yml.

        None if the log does not say how far a table with rows has come: an earlier release wrote it, or
        the commit has been removed from the log.
        """
        found = self._lake.last_commit(TRAFFIC.name)
        if "minutes" in found:
            return _TrafficProgress(**{name: found[name] for name in _TrafficProgress._fields})
        if self._is_empty():
            return _TrafficProgress(windows=to_json(load_window_rules(self._conf)))
        return None

    def _is_empty(self) -> bool:
        """Whether gold.traffic has no rows, by its log if that can be read without Spark."""
        rows = Lookup(("window_kind",))
        return (
            Source.of(self._lake, TRAFFIC.name, rows, 0).on_driver or self._lake.read(TRAFFIC.name).isEmpty()
        )

    def _known_minutes(self) -> int:
        return int(str(self._lake.last_commit(VISITOR_MINUTES.name).get("sequence", 0)))

    def _differences(
        self, source: Source, wanted: Lookup, rules: WindowRules, closed: ClosedWindows, known: int
    ) -> Rows:
        """Differences that minutes above a sequence make."""
        fresh = computed(source.look_up(VISITOR_MINUTES.name, wanted), wanted.columns)
        counted = closed.covering(source, earliest_minute(fresh)) if closed.ends else []
        theirs = self._minutes_near(source, fresh, counted)
        windows = (*windows_of(rules, self._zone), *counted)
        return window_differences(theirs, windows, known)

    def _held_by(self, source: Source, windows: Sequence[CountWindows]) -> Rows:
        """Differences of windows that close now: all their minutes count as new."""
        near = TimePruner.of_spans((each.bounds[0], each.bounds[-1] - 1) for each in windows)
        minutes = source.look_up(VISITOR_MINUTES.name, Lookup(MINUTE, near, "minute"))
        return window_differences(of_visitors(minutes), windows, known=-1)

    def _minutes_near(self, source: Source, fresh: Rows, counted: Iterable[CountWindows]) -> Rows:
        """All minutes that may share a window with a new minute of the same visitor."""
        name = VISITOR_MINUTES.name
        near = pruner_of(fresh, "minute", longest_span(counted))
        if isinstance(fresh, pa.Table):
            visitors = set(fresh["visitor_id"].to_pylist()) - {None}
            return source.look_up(name, Lookup(MINUTE, near, "minute", key=("visitor_id", visitors)))
        new = F.broadcast(fresh.select("visitor_id").distinct())
        return self._lake.read(name).where(near.contains("minute")).join(new, "visitor_id", "left_semi")

    def _affected_rows(
        self, source: Source, differences: Rows, before: int, watermark: int, rules: WindowRules
    ) -> Rows:
        """Rows of gold.traffic with differences, ended by the watermark, or with a trigger that may fire."""
        is_timed = any(rule.trigger and rule.trigger.every for rule in rules.values())
        latest = to_micros(LAST) if is_timed else watermark
        passed = TimePruner.of_spans([(before + 1, latest)])
        columns = TRAFFIC.column_names
        ended = source.look_up(TRAFFIC.name, Lookup(columns, passed, "window_end"))
        starts = pruner_of(differences, "window_start", timedelta(0))
        return union(source.look_up(TRAFFIC.name, Lookup(columns, starts, "window_start")), ended)

    def _write(
        self,
        source: Source,
        rows: Rows,
        differences: Rows,
        before: int,
        new: _TrafficProgress,
        upto: datetime,
        is_total: bool = False,
    ) -> None:
        """Merge the changes into gold.traffic."""
        kinds = {
            "row": with_key(rows, "window_start", TRAFFIC.column_names),
            "difference": with_key(differences, "window_start", DIFFERENCES.names),
        }
        watermark, rules = Progress(before, new.watermark), from_json(new.windows)
        fold = partial(fold_revisions, watermark=watermark, rules=rules, is_total=is_total)
        changes = Computed(Groups(kinds, fold, CHANGES), self._lake.spark, source.on_driver).all_rows()
        write_changes(self._lake, TRAFFIC.name, changes, upto, **new._asdict())
