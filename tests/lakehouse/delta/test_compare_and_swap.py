"""Two applications on one catalog: of two that read the same version of a table, only one commits."""

import inspect
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
from delta import exceptions
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kit.frames import frame_of
from kit.spark import empty_home
from lakehouse.contracts.silver import LOCK
from lakehouse.contracts.table import DELETED
from lakehouse.delta.compare_and_swap import CompareAndSwap
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.merge import Scope
from lakehouse.entry_point import Job
from lakehouse.errors import ConcurrentChangeError
from lakehouse.run.batch_settings import BatchSettings
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings

SESSIONS = "silver.sessions"
NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


class Application:
    """An application as Delta sees it: a separate session and `Lakehouse`, and no shared lock."""

    def __init__(self, spark: SparkSession, settings: Settings, job: str) -> None:
        self.spark = spark.newSession()
        BatchSettings(self.spark).choose(1)
        self.lake = Lakehouse(self.spark, settings, job)

    def read(self) -> dict[str, int]:
        """Start a micro-batch, and return page views by session."""
        with self.lake.exclusive(LOCK):
            rows = self.lake.read(SESSIONS).select("session_id", "page_views").collect()
        return {row.session_id: row.page_views for row in rows}

    def merge(self, **pages: int) -> None:
        self.lake.merge_changes(SESSIONS, self._rows(pages).withColumn(DELETED, F.lit(False)), NOON, Scope())

    def append(self, **pages: int) -> None:
        self.lake.append(SESSIONS, self._rows(pages), NOON)

    def overwrite(self, **pages: int) -> None:
        self.lake.overwrite(SESSIONS, self._rows(pages))

    def _rows(self, pages: dict[str, int]) -> Any:
        rows = [
            {"session_id": name, "visitor_id": "v", "started_at": NOON, "is_open": True, "page_views": views}
            for name, views in pages.items()
        ]
        return frame_of(self.spark, SESSIONS, rows)


@pytest.fixture(scope="module")
def settings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    home = tmp_path_factory.mktemp("catalog")
    yield empty_home(spark, home).model_copy(update={"catalog": "spark_catalog"})
    empty_home(spark, home)


@pytest.fixture(scope="module")
def applications(spark: SparkSession, settings: Settings) -> tuple[Application, Application]:
    """Two applications: refine and a rebuild."""
    refine, rebuild = (Application(spark, settings, job) for job in ("refine", "rebuild"))
    return refine, rebuild


@pytest.fixture
def both(applications: tuple[Application, Application]) -> tuple[Application, Application]:
    """The two applications, on a table with one session of one page view."""
    one, other = applications
    one.read()
    one.overwrite(a=1)
    other.read()
    one.read()
    return one, other


WRITES: list[Callable[..., None]] = [Application.merge, Application.append, Application.overwrite]


CONFLICT = r"another application has changed silver\.sessions"


@pytest.mark.parametrize(
    "first",
    [
        Application.append,
        pytest.param(Application.overwrite, marks=pytest.mark.long),
    ],
    ids=lambda write: write.__name__,
)
def test_merge_based_on_stale_read_is_rejected(
    both: tuple[Application, Application], first: Callable[..., None]
) -> None:
    one, other = both
    first(other, a=2)
    with pytest.raises(ConcurrentChangeError, match=CONFLICT):
        one.merge(a=3)


def test_no_write_based_on_stale_read_is_committed(both: tuple[Application, Application]) -> None:
    one, other = both
    other.merge(a=2)
    for write in WRITES:
        with pytest.raises(ConcurrentChangeError, match=CONFLICT):
            write(one, a=3)
    assert one.read() == {"a": 2}, "nothing of the refused commits is there"
    one.merge(a=one.read()["a"] + 1)
    assert one.read() == {"a": 3}, "a micro-batch that is done again is based on what is there"


@pytest.mark.long
def test_micro_batch_commits_several_times_despite_optimize_and_properties(
    both: tuple[Application, Application],
) -> None:
    """Compaction and changes of table properties are no conflict."""
    one, other = both
    one.merge(a=2)
    one.append(b=1)
    other.spark.sql(f"OPTIMIZE {SESSIONS}")
    other.spark.sql(f"ALTER TABLE {SESSIONS} SET TBLPROPERTIES ('delta.checkpointInterval' = '50')")
    one.merge(b=5)
    assert one.read() == {"a": 2, "b": 5}


@pytest.mark.parametrize(
    "collision",
    [
        each
        for name, each in vars(exceptions).items()
        if inspect.isclass(each) and name.endswith("Exception") and "Spark" not in name
    ],
    ids=lambda collision: collision.__name__,
)
def test_commit_is_retried_after_delta_conflict(
    monkeypatch: pytest.MonkeyPatch, collision: type[Exception]
) -> None:
    monkeypatch.setattr("lakehouse.delta.compare_and_swap._PAUSE_SECONDS", 0)
    commits: list[tuple[int, dict[str, object]]] = []
    attempts = []

    def write(transaction: object, more: object) -> None:
        attempts.append(transaction)
        if len(attempts) == 1:
            raise collision("another has committed")
        commits.insert(0, (len(commits), dict(more)))

    CompareAndSwap(lambda _: iter(commits), "refine").commit(SESSIONS, write)
    assert len(attempts) == 2
    assert len(commits) == 1


@pytest.mark.long
def test_job_run_by_two_applications_fails_in_a_later_micro_batch(
    spark: SparkSession, both: tuple[Application, Application]
) -> None:
    settings = both[0].lake.settings
    one, other = (Application(spark, settings, "publish") for _ in range(2))
    assert one.lake.high_water_mark(SESSIONS) is None  # asked once, when the job starts
    one.read()
    one.merge(a=2)
    both[0].read()
    both[0].merge(a=3)
    one.read()
    one.merge(a=4)
    other.read()
    other.merge(a=5)
    with pytest.raises(ConcurrentChangeError):
        one.read()


def test_job_is_restarted_after_conflicts_at_most_four_times(
    spark: SparkSession, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakehouse.entry_point._PAUSE_SECONDS", 0)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: spark)
    failures = [2]
    runs: list[JobContext] = []

    def body(run: JobContext) -> None:
        runs.append(run)
        if len(runs) <= failures[0]:
            raise ConcurrentChangeError("another application has changed x", "Run it again")

    Job("refine", body)([f"--home={settings.home}"])
    assert len(runs) == len({id(run.lake) for run in runs}) == 3, "each with nothing in memory"
    runs.clear()
    failures[0] = 99
    with pytest.raises(SystemExit, match="another application has changed x"):
        Job("refine", body)([f"--home={settings.home}"])
    assert len(runs) == 5
