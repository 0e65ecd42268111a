"""Traffic: metrics by window, updated by differences."""

import json
from datetime import datetime
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame

from folds.windows.revisions import Progress
from folds.windows.window_rules import events_of, load_window_rules, to_json, windows_of
from gold.traffic.changed_windows import all_windows, changed_by_closing, changed_by_minutes, near
from gold.traffic.closing_windows import last_ends
from gold.traffic.traffic_progress import (
    TrafficProgress,
    commit_progress,
    last_sequence,
    may_publish,
    read_progress,
)
from gold.traffic.window_rows import read_affected_rows, revise_rows
from lakehouse.contracts.lineage import tables_of
from lakehouse.contracts.traffic import TRAFFIC
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import write_changes
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.timestamps import EPOCH, to_micros

_OTHERS = tuple(table.name for table in tables_of("gold") if table.cadence == "summary" and table != TRAFFIC)
"""The other tables that are updated with gold.traffic."""


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

    def update(self, upto: datetime, watermark: datetime, summarized: int | None = None) -> None:
        """Apply new minutes and the watermark.

        Args:
            upto: high-water mark of gold, an ingest stamp.
            watermark: the watermark that results are complete up to.
            summarized: sequence of gold.visitor_minutes through which all other summaries are up to date, for
                the next application; None if this has not changed.
        """
        done = read_progress(self._lake, self._conf)
        if done is None:
            self.replace(self.differences(watermark), upto, watermark, summarized)
            return
        summarized = done.summarized if summarized is None else summarized
        new = done._replace(
            minutes=last_sequence(self._lake), watermark=to_micros(watermark), summarized=summarized
        )
        passed = Progress(done.watermark, new.watermark)
        if new.minutes > done.minutes or may_publish(done.rules, passed):
            new = self._update(done, new, upto)
        if summarized > done.summarized and read_progress(self._lake, self._conf) != new:
            commit_progress(self._lake, new, upto)  # no row has changed

    def advance(self, upto: datetime) -> None:
        """Commit the progress without rows if another table of gold is ahead: a cost is in no window.

        Pages read all tables as of the position of the last commit to gold.traffic.

        Args:
            upto: high-water mark of gold, an ingest stamp.
        """
        shown = self._lake.high_water_mark(TRAFFIC.name) or EPOCH
        if shown >= upto or all((self._lake.high_water_mark(name) or EPOCH) <= shown for name in _OTHERS):
            return
        if done := read_progress(self._lake, self._conf):
            commit_progress(self._lake, done, upto)

    def differences(self, watermark: datetime) -> DataFrame:
        """All minutes as differences from an empty table.

        Args:
            watermark: the watermark that results are complete up to.
        """
        rules, done = load_window_rules(self._conf), read_progress(self._lake, self._conf)
        windows = windows_of(rules, self._zone)
        known = done.minutes if done else last_sequence(self._lake)
        return all_windows(self._lake, windows, events_of(rules), to_micros(watermark), known)

    def replace(
        self, differences: DataFrame, upto: datetime, watermark: datetime, summarized: int | None = None
    ) -> None:
        """Replace all windows.

        Args:
            differences: the result of the method `differences`.
            upto: high-water mark of gold, an ingest stamp.
            watermark: the watermark that results are complete up to.
            summarized: see `update`.
        """
        rules, totals = load_window_rules(self._conf), checkpoint(differences)
        ends = json.dumps(last_ends(totals, list(events_of(rules))))
        if summarized is None:
            before = read_progress(self._lake, self._conf)
            summarized = before.summarized if before else 0
        minutes = last_sequence(self._lake)
        new = TrafficProgress(minutes, to_micros(watermark), to_json(rules), ends, summarized)
        now = Progress(new.watermark, new.watermark)
        changes = revise_rows(self._lake.read(TRAFFIC.name), totals, now, rules, is_total=True)
        self._write(changes, new, upto)
        if read_progress(self._lake, self._conf) != new:  # no row has changed
            commit_progress(self._lake, new, upto)

    def _update(self, done: TrafficProgress, new: TrafficProgress, upto: datetime) -> TrafficProgress:
        lake, rules, ends, changed = self._lake, done.rules, done.last_ends, None
        if new.minutes > done.minutes:
            changed = changed_by_minutes(lake, windows_of(rules, self._zone), ends, done.minutes)
        closing, ends = changed_by_closing(lake, events_of(rules), ends, new.watermark)
        parts = [part for part in (changed, closing) if part]
        hours = [span for part in parts for span in part.hours]
        all_parts = (part.differences for part in parts)
        differences = checkpoint(reduce(DataFrame.unionByName, all_parts)) if parts else None
        watermark = Progress(done.watermark, new.watermark)
        affected = read_affected_rows(lake, differences, near(hours), watermark, rules)
        changes = revise_rows(affected, differences, watermark, rules)
        new = new._replace(ends=json.dumps(ends))
        self._write(changes, new, upto)
        return new

    def _write(self, changes: DataFrame, new: TrafficProgress, upto: datetime) -> None:
        write_changes(self._lake, TRAFFIC, changes, upto, **new._asdict())
