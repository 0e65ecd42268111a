"""Progress of gold.traffic, kept in the metadata of its commits."""

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from folds.windows.revisions import Progress
from folds.windows.window_rules import STANDARD, WindowRules, from_json, load_window_rules, to_json
from gold.traffic.window_places import Ends
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.timestamps import EPOCH, span_micros, to_micros

_MINUTE = 60_000_000
_SKIP_EMPTY_COMMITS = "spark.databricks.delta.skipRecordingEmptyCommits"


class TrafficProgress(NamedTuple):
    """Metadata of the last commit to gold.traffic.

    Args:
        minutes: sequence of gold.visitor_minutes that is processed through.
        watermark: the watermark, in microseconds; windows that end by it are complete.
        windows: rules of the table's windows, as JSON.
        ends: by kind of window by number of events, the end of the last closed one, as JSON.
        summarized: sequence of gold.visitor_minutes through which all summaries are up to date.
    """

    minutes: int = 0
    watermark: int = to_micros(EPOCH)
    windows: str = to_json(STANDARD)
    ends: str = "{}"
    summarized: int = 0

    @property
    def rules(self) -> WindowRules:
        """Rules of the table's windows."""
        return from_json(self.windows)

    @property
    def last_ends(self) -> Ends:
        """Ends of the last closed windows, by kind."""
        found: dict[str, int] = json.loads(self.ends)
        return found


def read_progress(lake: Lakehouse, conf: Path) -> TrafficProgress | None:
    """Metadata of the last commit; a new table gets the windows of conf/windows.yml.

    None if the log does not say how far a table with rows has come: an earlier release wrote it, or the
    commit has been removed from the log.
    """
    found = lake.last_commit(TRAFFIC.name)
    if "minutes" in found:
        return TrafficProgress(**{name: found[name] for name in TrafficProgress._fields if name in found})
    if lake.read(TRAFFIC.name).isEmpty():
        return TrafficProgress(windows=to_json(load_window_rules(conf)))
    return None


def commit_progress(lake: Lakehouse, progress: TrafficProgress, upto: datetime) -> None:
    """A commit without rows. By default Delta does not record it; a runtime may insist on that."""
    with suppress(PySparkException):
        lake.spark.conf.set(_SKIP_EMPTY_COMMITS, "false")
    try:
        lake.append(TRAFFIC.name, arrow_schema(TRAFFIC).empty_table(), upto, **progress._asdict())
    finally:
        with suppress(PySparkException):
            lake.spark.conf.unset(_SKIP_EMPTY_COMMITS)


def last_sequence(lake: Lakehouse) -> int:
    """The last sequence of gold.visitor_minutes.

    It is in the metadata of publish's last commit. If the log no longer has that commit, as only other jobs
    have committed since, it is read from the rows, or is what gold.traffic has processed.
    """
    found = lake.last_commit(VISITOR_MINUTES.name)
    if "sequence" in found or not lake.version(VISITOR_MINUTES.name):
        return int(str(found.get("sequence", 0)))
    in_rows = lake.read(VISITOR_MINUTES.name).agg(F.max("sequence")).collect()[0][0]
    return max(in_rows or 0, int(str(lake.last_commit(TRAFFIC.name).get("minutes", 0))))


def may_publish(rules: WindowRules, watermark: Progress) -> bool:
    """Whether the watermark may end a window, all of which end with a minute, or fire a trigger."""
    triggers = [rule.trigger.every for rule in rules.values() if rule.trigger and rule.trigger.every]
    steps = [_MINUTE, *map(span_micros, triggers)]
    return any(watermark.now // step > watermark.before // step for step in steps)
