"""Two applications on one catalog: one commits to a table that the other has read and is about to write."""

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
from kit.spark import empty_home
from lakehouse.delta.compare_and_swap import CompareAndSwap
from lakehouse.entry_point import Job
from lakehouse.entry_points import maintenance
from lakehouse.errors import ConcurrentChangeError
from lakehouse.settings import Settings
from millrace.operations.entry_points import rebuild
from silver.entry_points import refine, repair

pytestmark = pytest.mark.long


class NoLocks(dict[str, Any]):
    """Applications share no memory: to each its own lock."""

    def __missing__(self, name: str) -> Any:
        return threading.RLock()


class Applications:
    """Jobs on one catalog, as entry points run them, each with a session and no lock in common."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self.settings = settings
        for layer in ("bronze", "silver", "gold", "ops"):
            spark.sql(f"CREATE DATABASE {layer} LOCATION '{settings.warehouse / layer}'")
        self.bronze = Bronze(spark, settings.model_copy(update={"catalog": "spark_catalog"}))
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
    monkeypatch.setattr("lakehouse.delta.table_locks._LOCKS", NoLocks())
    made = Applications(spark, empty_home(spark, tmp_path))
    yield made
    empty_home(spark, tmp_path)


@pytest.fixture
def interrupt(
    applications: Applications, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, Callable[[], None]], None]:
    """Have something happen right before the next commit to a table, by whichever job that is."""
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
MEETINGS: dict[str, tuple[Job, tuple[str, ...], str, Job, tuple[str, ...]]] = {
    "refine meets repair": (refine, (), "silver.sessions", repair, ()),
    "repair meets refine": (repair, (), "silver.sessions", refine, ()),
    "refine meets a rebuild": (refine, (), "silver.sessions", rebuild, ("--tables=silver.sessions",)),
    "a rebuild meets refine": (rebuild, ("--tables=silver.sessions",), "silver.sessions", refine, ()),
    "publish meets a rebuild": (publish, (), "gold.attribution", rebuild, REBUILD),
    "a rebuild meets publish": (rebuild, REBUILD, "gold.conversions", publish, ()),
    "refine meets refine": (refine, (), "silver.events", refine, ()),
    "publish meets publish": (publish, (), "gold.touches", publish, ()),
    "refine meets maintenance": (refine, (), "silver.sessions", maintenance, ()),
    "publish meets maintenance": (publish, (), "gold.conversions", maintenance, ()),
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_a_job_that_meets_another_leaves_what_the_oracle_wants(
    applications: Applications, interrupt: Callable[..., None], meeting: str
) -> None:
    job, parameters, table, other, others = MEETINGS[meeting]
    first, second, third = cut(deliver(30, 3), 3, 1)  # late events are in each of them
    applications.bronze.commit(first)
    applications.catch_up(refine, repair, *([publish] if table.startswith("gold") else []))
    applications.bronze.commit(second)
    applications.run(refine)
    applications.bronze.commit(third)
    if refine not in (job, other):
        applications.catch_up(refine, repair)

    happened: list[str] = []

    def meet() -> None:
        applications.run(other, *others)
        happened.append(other.name)

    interrupt(table, meet)
    applications.run(job, *parameters)
    assert happened == [other.name]
    if other.name != "maintenance":
        assert applications.refused[table] == 1, applications.refused
    applications.catch_up(refine, repair, publish)
    assert_as_the_oracle(applications.settings, Oracle.over(applications.bronze.stored))
