"""gold.traffic after each update from gold.visitor_minutes, against the oracle by order of arrival."""

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from folds.windows.window_rules import STANDARD, from_json
from gold.traffic.traffic_progress import last_sequence
from gold.traffic.windows import Traffic
from kit.oracle_arrival import MINUTE, ArrivalOracle, Arrived, Batch, Key, Line, Published
from kit.pipeline import read_rows
from kit.records import NOON
from kit.spark import empty_home
from kit.window_minutes import VisitorMinute, minutes_frame
from lakehouse.contracts.traffic import TRAFFIC, VISITOR_MINUTES
from lakehouse.run.batch_counters import BatchCounter
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from lakehouse.timestamps import from_micros, to_micros
from millrace.audit.windows import wrong_windows

pytestmark = pytest.mark.long

CONF = Path(__file__).resolve().parents[3] / "conf"
LINES = {
    "1 minute": Line(1, 1),
    "1 hour": Line(60, 60),
    "1 hour every 5 minutes": Line(60, 5),
    "1 day": Line(24 * 60, 24 * 60),
    "by count": Line(30, 30, trigger_events=4),
    "by time": Line(30, 15, trigger_every=20),
    "as published": Line(60, 60, lateness="count"),
    "sixty events": Line(0, 0, events=60),
    "two events": Line(0, 0, events=2),
}
EXTRA_WINDOWS = """
by count: {size: PT30M, trigger: {events: 4}}
by time: {size: PT30M, slide: PT15M, trigger: {every: PT20M}}
as published: {size: PT1H, lateness: count}
sixty events: {events: 60}
two events: {events: 2}
"""
SHOWN = ("events", "visitors", "value", "pane", "revision", "is_complete", "late_events")


def at(minute: int) -> int:
    return to_micros(NOON) + minute * MINUTE


def arrived(*rows: tuple[str, int, str | None, int]) -> list[Arrived]:
    return [
        Arrived(who, at(minute), channel, events, Decimal(events)) for who, minute, channel, events in rows
    ]


NOBODY: frozenset[str] = frozenset()
BATCHES = [
    Batch(arrived(("ann", 1, "Direct", 1), ("ben", 3, None, 2), ("rob", 4, "Email", 58)), NOBODY, at(4)),
    Batch(arrived(("ann", 22, "Direct", 1), ("cid", 33, "Email", 3)), NOBODY, at(31)),
    Batch(arrived(("dan", 2, "Email", 1), ("cid", 47, None, 1)), NOBODY, at(45)),  # the first is late
    Batch([], NOBODY, at(46) + 1),  # only the watermark
    Batch(arrived(("cid", 75, "Direct", 1), ("ann", 65, "Direct", 2)), NOBODY, at(73)),
    Batch([], frozenset({"rob"}), at(73)),  # a window by number of events loses its row
    Batch(arrived(("ben", 3, None, 1), ("eve", -90, None, 1), ("ben", 130, "Email", 4)), NOBODY, at(128)),
    Batch(arrived(("eve", 4, "Direct", 1), ("eve", 300, "Direct", 1)), NOBODY, at(298)),
]


class Home:
    """Tables of a home, and the updates of publish."""

    def __init__(self, spark: SparkSession, settings: Settings, conf: Path) -> None:
        self.settings = settings
        self.run = JobContext("publish", spark.newSession(), settings, once=True)
        self.run.tune_for_batch(0)
        self.traffic = Traffic(self.run.lake, "UTC", conf)
        self.sequence = 0
        self._there: list[VisitorMinute] = []

    def append(self, batch: Batch) -> None:
        """Append the minutes of a batch, and minus those of its bots."""
        new = [VisitorMinute(*row, by_events=True) for row in batch.arrived]
        bots = [row for row in self._there if row.visitor in batch.bots]
        gone = [row._replace(events=-row.events, value=-row.value, by_events=False) for row in bots]
        self._there += [*new, *gone]
        if new or gone:
            self.sequence += 1
            rows = minutes_frame(self.run.spark, [*new, *gone], [self.sequence] * len([*new, *gone]))
            self.run.lake.append(VISITOR_MINUTES.name, rows, NOON, sequence=self.sequence)

    def update(self, watermark: int, summarized: int | None = None) -> None:
        self.traffic.update(NOON, from_micros(watermark), summarized)

    @property
    def summarized(self) -> int:
        return int(self.run.lake.last_commit(TRAFFIC.name)["summarized"])

    @property
    def version(self) -> int:
        return self.run.lake.version(TRAFFIC.name)

    @property
    def published(self) -> dict[Key, Published]:
        rows = read_rows(self.settings, TRAFFIC.name, (*TRAFFIC.key, *SHOWN))
        return {
            (row["window_kind"], row["window_start"], row["channel"]): Published(
                *(row[name] for name in SHOWN)
            )
            for row in rows
            if row["pane"] is not None
        }


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "windows.yml").write_text((CONF / "windows.yml").read_text() + EXTRA_WINDOWS)
    return folder


def follow(home: Home, oracle: ArrivalOracle, batches: Iterable[Batch]) -> None:
    for number, batch in enumerate(batches):
        home.append(batch)
        oracle.take(batch)
        home.update(batch.watermark)
        assert home.published == oracle.published, f"batch {number}"


def test_windows_match_oracle_after_each_update(spark: SparkSession, tmp_path: Path, conf: Path) -> None:
    home, oracle = Home(spark, empty_home(spark, tmp_path / "home"), conf), ArrivalOracle(LINES)
    follow(home, oracle, BATCHES)
    assert wrong_windows(home.settings) == set()
    panes = {(key[0], row.pane) for key, row in oracle.published.items()}
    assert {("1 minute", "late"), ("1 day", "early"), ("two events", "late")} <= panes
    assert_rebuild_keeps_windows(home, conf)


def assert_rebuild_keeps_windows(home: Home, conf: Path) -> None:
    """A rebuild without the additional windows leaves the standard windows unchanged."""
    (conf / "windows.yml").write_text((CONF / "windows.yml").read_text())
    before, watermark = home.published, from_micros(BATCHES[-1].watermark)
    home.traffic.replace(home.traffic.differences(watermark), NOON, watermark)
    after = home.published
    assert {key[0] for key in after} == set(STANDARD)
    assert after == {key: row for key, row in before.items() if key in after}
    with (conf / "windows.yml").open("a") as file:
        file.write("none so large: {events: 1000000}\n")
    home.traffic.replace(home.traffic.differences(watermark), NOON, watermark)
    rules = from_json(home.run.lake.last_commit(TRAFFIC.name)["windows"])
    assert rules["none so large"].events == 1_000_000, "a rule that changes no row is in force too"


def test_replaced_window_is_late_only_by_events_since_its_last_update(
    spark: SparkSession, tmp_path: Path
) -> None:
    home = Home(spark, empty_home(spark, tmp_path), CONF)
    home.append(Batch(arrived(("ann", 1, None, 2), ("ben", 1, None, 1)), NOBODY, 0))
    home.update(at(1))
    home.update(at(2))
    minute, watermark = ("1 minute", at(1), None), from_micros(at(2))
    assert home.published[minute][-4:-1] == ("on_time", 0, True)
    home.append(Batch([], frozenset({"ben"}), 0))  # minutes of which the cause is no event
    home.traffic.replace(home.traffic.differences(watermark), NOON, watermark)
    assert home.published[minute][-4:-1] == ("on_time", 1, True)
    home.append(Batch(arrived(("cid", 1, None, 1)), NOBODY, 0))
    home.traffic.replace(home.traffic.differences(watermark), NOON, watermark)
    assert home.published[minute][-4:-1] == ("late", 2, True)


def test_minutes_of_several_updates_may_be_applied_at_once(spark: SparkSession, tmp_path: Path) -> None:
    """As after a crash: progress is in the last commit to gold.traffic, so no minute counts twice."""
    homes = [Home(spark, empty_home(spark, tmp_path / "once"), CONF)]
    for batch in BATCHES:
        homes[0].append(batch)
    homes[0].update(BATCHES[-1].watermark)
    at_once = {key: row[:3] for key, row in homes[0].published.items()}
    home = Home(spark, empty_home(spark, tmp_path / "each"), CONF)
    for batch in BATCHES:
        home.append(batch)
        home.update(batch.watermark)
    assert {key: row[:3] for key, row in home.published.items()} == at_once


def test_update_without_new_minutes_or_ended_windows_runs_no_spark_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    home = Home(spark, empty_home(spark, tmp_path), CONF)
    home.append(BATCHES[0])
    home.update(at(4))
    version, counter = home.version, BatchCounter(home.run.spark, home.run.lake.counter)
    home.update(at(4) + MINUTE - 1)
    counts = counter.counts()
    assert (counts.spark_jobs, counts.table_reads, home.version) == (0, 0, version)
    home.update(at(5))
    assert home.version == version + 1, "the window of minute 4 has ended"


def test_sequence_goes_on_when_the_log_has_lost_its_last_commit(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a long time in which only erasures have written, whose commits have no sequence."""
    home = Home(spark, empty_home(spark, tmp_path), CONF)
    lake, last_commit = home.run.lake, home.run.lake.last_commit
    lost = {VISITOR_MINUTES.name: {}}
    monkeypatch.setattr(lake, "last_commit", lambda name: lost.get(name, last_commit(name)))
    assert last_sequence(lake) == 0, "an empty table"
    for batch in BATCHES[:2]:
        home.append(batch)
    assert last_sequence(lake) == 2, "by rows"
    lost[TRAFFIC.name] = {"minutes": 5}
    assert last_sequence(lake) == 5, "rows of 3 to 5 have been erased"


def test_rows_without_visitor_change_no_window(spark: SparkSession, tmp_path: Path) -> None:
    """Such rows mark a quarter-hour in which something else has changed."""
    home = Home(spark, empty_home(spark, tmp_path), CONF)
    home.append(BATCHES[0])
    home.update(at(4))
    version = home.version
    mark = VisitorMinute(None, at(0), None, 0, Decimal(0), by_events=False)  # type: ignore[arg-type]
    home.run.lake.append(VISITOR_MINUTES.name, minutes_frame(home.run.spark, [mark], [2]), NOON, sequence=2)
    home.update(at(4))
    assert home.version == version


def test_commits_say_through_which_minutes_all_summaries_are_up_to_date(
    spark: SparkSession, tmp_path: Path
) -> None:
    home = Home(spark, empty_home(spark, tmp_path), CONF)
    home.append(BATCHES[0])
    home.update(at(4), 1)
    assert home.summarized == 1
    home.append(BATCHES[1])
    home.update(at(31))
    assert home.summarized == 1, "a rebuild updates no other summaries"
    version = home.version
    home.update(at(31), 2)
    assert (home.summarized, home.version) == (2, version + 1), "no row has changed"
    home.update(at(31), 2)
    assert home.version == version + 1
    home.traffic.replace(home.traffic.differences(from_micros(at(31))), NOON, from_micros(at(31)))
    assert home.summarized == 2
