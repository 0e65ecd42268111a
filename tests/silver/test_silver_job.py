"""refine and repair in one run, with simulated jobs."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakehouse import entry_point
from lakehouse.errors import ConcurrentChangeError
from lakehouse.run import job_session
from lakehouse.run.job import JobContext
from lakehouse.settings import load_settings
from silver import silver_job
from silver.entry_points import silver
from silver.silver_job import refine_and_repair

SECONDS = 10.0
Body = Callable[[JobContext], None]


def conflict(_: JobContext) -> None:
    raise ConcurrentChangeError("another application has changed silver.sessions", "Run it again")


class UntilStopped:
    """A job that runs until it is stopped."""

    was_stopped = False

    def __call__(self, run: JobContext) -> None:
        self.was_stopped = run.stop.wait(SECONDS)


def simulated_session() -> Any:
    return SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None))


def new_run(home: Path, *, once: bool = False) -> JobContext:
    return JobContext("silver", simulated_session(), load_settings(home=home), once)


def set_jobs(monkeypatch: pytest.MonkeyPatch, refine: Body, repair: Body) -> None:
    monkeypatch.setattr(silver_job, "_JOBS", {"refine": refine, "repair": repair})


@pytest.mark.parametrize("failing", ["refine", "repair"])
def test_conflict_of_one_job_stops_the_other_but_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    run, other = new_run(tmp_path), UntilStopped()
    jobs: dict[str, Body] = {"refine": other, "repair": other, failing: conflict}
    set_jobs(monkeypatch, **jobs)
    with pytest.raises(ConcurrentChangeError):
        refine_and_repair(run)
    assert other.was_stopped
    assert not run.stop.is_set()


def test_stop_of_the_run_stops_both_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, refine, repair = new_run(tmp_path), UntilStopped(), UntilStopped()
    both_run = threading.Barrier(2, run.stop.set, SECONDS)

    def after_both_run(job: Body) -> Body:
        def body(given: JobContext) -> None:
            both_run.wait()
            job(given)

        return body

    set_jobs(monkeypatch, after_both_run(refine), after_both_run(repair))
    refine_and_repair(run)
    assert (refine.was_stopped, repair.was_stopped) == (True, True)


def test_stop_of_a_run_until_caught_up_reaches_the_current_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, repair = new_run(tmp_path, once=True), UntilStopped()
    set_jobs(monkeypatch, lambda _: run.stop.set(), repair)
    refine_and_repair(run)
    assert repair.was_stopped


def test_both_jobs_run_again_after_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[Body] = [conflict, lambda _: None]
    repairs: list[UntilStopped] = []

    def refine(run: JobContext) -> None:
        attempts.pop(0)(run)

    def repair(run: JobContext) -> None:
        repairs.append(UntilStopped())
        repairs[-1](run)

    @contextmanager
    def get_or_start_session(_: Any) -> Iterator[Any]:
        yield simulated_session()

    set_jobs(monkeypatch, refine, repair)
    monkeypatch.setattr(job_session, "get_or_start_session", get_or_start_session)
    monkeypatch.setattr(entry_point, "_PAUSE_SECONDS", 0)
    with ThreadPoolExecutor(1) as thread:  # the main thread would keep the job's handler of SIGTERM
        thread.submit(silver, ["--trigger=continuous", f"--home={tmp_path}"]).result()
    assert attempts == []
    assert [each.was_stopped for each in repairs] == [True, True]
