"""Two applications on one catalog: one commits to a table between the read and the write of the other."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from gold.entry_points import publish
from kit.deliveries import cut, deliver
from kit.oracle import Oracle
from kit.pipeline import assert_as_the_oracle
from kit.records import Bronze
from kit.spark import catalog_in, empty_home
from lakehouse.delta.compare_and_swap import CompareAndSwap
from lakehouse.entry_point import Job
from lakehouse.entry_points import maintenance
from lakehouse.errors import ConcurrentChangeError
from lakehouse.settings import Settings
from millrace.operations.entry_points import rebuild
from silver.entry_points import refine, repair

pytestmark = pytest.mark.long


class UnsharedLocks(dict[str, Any]):
    """Gives each caller a lock of its own, as applications share no memory."""

    def __missing__(self, name: str) -> Any:
        return threading.RLock()


class Applications:
    """Runs jobs on one catalog as entry points do, each with its own Spark session and locks."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self.settings = settings
        self.bronze = Bronze(spark, catalog_in(spark, settings))
        self.refused: Counter[str] = Counter()

    def run(self, job: Job, *parameters: str) -> None:
        job(
            [
                f"--home={self.settings.home}",
                "--catalog=spark_catalog",
                "--trigger=available-now",
                *parameters,
            ]
        )

    def catch_up(self, *jobs: Job) -> None:
        for job in jobs:
            self.run(job)


@pytest.fixture
def applications(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Applications]:
    @contextmanager
    def session_of(_: Settings) -> Iterator[SparkSession]:
        yield spark.newSession()

    monkeypatch.setattr("lakehouse.run.job_session.get_or_start_session", session_of)
    monkeypatch.setattr("lakehouse.entry_point._PAUSE_SECONDS", 0)
    monkeypatch.setattr("lakehouse.delta.exclusive._LOCKS", UnsharedLocks())
    made = Applications(spark, empty_home(spark, tmp_path))
    yield made
    empty_home(spark, tmp_path)


@pytest.fixture
def interrupt(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Callable[[], None]], None]:
    """Run an action right before the next commit of any job to a table."""
    commit = CompareAndSwap.commit
    waiting: dict[str, Callable[[], None]] = {}

    def interrupted(self: CompareAndSwap, name: str, write: Any) -> None:
        if other := waiting.pop(name, None):
            self.note(name)
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        try:
            commit(self, name, write)
        except ConcurrentChangeError:
            applications.refused[name] += 1
            raise

    monkeypatch.setattr(CompareAndSwap, "commit", interrupted)
    return waiting.__setitem__


REBUILD = ("--tables=silver.sessions,gold.touches,gold.conversions,gold.attribution",)
CONFLICTS: dict[str, tuple[Job, tuple[str, ...], str, Job, tuple[str, ...]]] = {
    "refine interrupted by repair": (refine, (), "silver.sessions", repair, ()),
    "repair interrupted by refine": (repair, (), "silver.sessions", refine, ()),
    "refine interrupted by a rebuild": (
        refine,
        (),
        "silver.sessions",
        rebuild,
        ("--tables=silver.sessions",),
    ),
    "a rebuild interrupted by refine": (
        rebuild,
        ("--tables=silver.sessions",),
        "silver.sessions",
        refine,
        (),
    ),
    "publish interrupted by a rebuild": (publish, (), "gold.attribution", rebuild, REBUILD),
    "a rebuild interrupted by publish": (rebuild, REBUILD, "gold.conversions", publish, ()),
    "refine interrupted by refine": (refine, (), "silver.events", refine, ()),
    "publish interrupted by publish": (publish, (), "gold.touches", publish, ()),
    "refine interrupted by maintenance": (refine, (), "silver.sessions", maintenance, ()),
    "publish interrupted by maintenance": (publish, (), "gold.conversions", maintenance, ()),
}


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_job_retries_after_conflicting_commit_and_matches_oracle(
    applications: Applications, interrupt: Callable[..., None], conflict: str
) -> None:
    job, parameters, table, other, others = CONFLICTS[conflict]
    first, second, third = cut(deliver(30, 3), 3, 1)  # late events are in each of them
    applications.bronze.commit(first)
    applications.catch_up(refine, repair, *([publish] if table.startswith("gold") else []))
    applications.bronze.commit(second)
    applications.run(refine)
    applications.bronze.commit(third)
    if refine not in (job, other):
        applications.catch_up(refine, repair)

    happened: list[str] = []

    def run_other() -> None:
        applications.run(other, *others)
        happened.append(other.name)

    interrupt(table, run_other)
    applications.run(job, *parameters)
    assert happened == [other.name]
    if other.name != "maintenance":
        assert applications.refused[table] == 1, applications.refused
    applications.catch_up(refine, repair, publish)
    assert_as_the_oracle(applications.settings, Oracle.over(applications.bronze.stored))
