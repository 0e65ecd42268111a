"""Continuous and scheduled jobs without Spark: job bodies that count, fail and wait."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from kit.home import recorded_runs
from kit.polling import eventually
from lakehouse.entry_point import Job
from lakehouse.errors import MillraceError
from lakehouse.run import spark_session
from lakehouse.run.job import JobContext
from lakehouse.settings import load_settings
from millrace.local.bundle.jobs import BundleJob, Schedule, Task, read_job
from millrace.local.bundle.unsupported import unsupported
from millrace.local.engine import run_history
from millrace.local.engine.job_runner import CREDIT_PATH, JobRunner
from millrace.local.engine.task_runner import TaskRunner

EACH_SECOND = Schedule("* * * * * ?", "Europe/Berlin")
Body = Callable[[JobContext], None]


class Counting:
    """A job body that keeps its runs, and calls one of the given functions in each of the first ones."""

    def __init__(self, *first: Body) -> None:
        self.seen: list[JobContext] = []
        self._first = list(first)

    def __call__(self, run: JobContext) -> None:
        self.seen.append(run)
        if self._first:
            self._first.pop(0)(run)


def job(name: str, body: Body, **more: Any) -> BundleJob:
    return BundleJob(name, (Task(name, name, known=Job(name, body)),), **more)


def fail(_: JobContext) -> None:
    raise ValueError("no\nluck")


def until_stopped(run: JobContext) -> None:
    run.stop.wait(30)


@pytest.fixture
def worker(home: Path) -> Iterator[TaskRunner]:
    spark = SimpleNamespace(newSession=lambda: SimpleNamespace(conf=SimpleNamespace(set=lambda *_: None)))
    application: Any = SimpleNamespace(
        spark=spark, use_scheduler_pool=lambda _: None, has_ended=lambda: False
    )
    stop = threading.Event()
    yield TaskRunner(application, load_settings(home=home, trigger_interval="PT0.01S"), stop)
    stop.set()


def start_jobs(worker: TaskRunner, *jobs: BundleJob, scheduled: tuple[BundleJob, ...] = ()) -> JobRunner:
    runner = JobRunner(jobs, scheduled)
    _, schedules = runner.begin(worker)
    runner.update_next_runs(schedules)
    return runner


def test_scheduled_job_starts_at_its_cron_times(worker: TaskRunner) -> None:
    body = Counting()
    runner = start_jobs(worker, scheduled=(job("tidy", body, schedule=EACH_SECOND),))
    assert runner.states["tidy"].next_run is not None
    eventually(lambda: len(body.seen) >= 2, 10, "it has started twice")
    assert all(run.once for run in body.seen)
    reported = recorded_runs(worker.settings.home, "tidy")[0]
    assert (reported["state"], reported["cause"], reported["error"]) == ("succeeded", "schedule", None)


def test_paused_jobs_do_not_start(worker: TaskRunner) -> None:
    resting, paused, other = Counting(), Counting(), Counting()
    runner = start_jobs(
        worker,
        job("resting", resting, continuous=True, is_paused=True),
        scheduled=(
            job("paused", paused, schedule=EACH_SECOND, is_paused=True),
            job("other", other, schedule=EACH_SECOND),
        ),
    )
    eventually(lambda: len(other.seen) >= 2, 10, "another has started twice")
    assert (resting.seen, paused.seen) == ([], [])
    assert {runner.states[name].state for name in ("resting", "paused")} == {"paused"}
    assert runner.states["paused"].next_run is None


def test_jobs_that_no_credit_waits_for_start_after_the_first_batch_of_publish(worker: TaskRunner) -> None:
    may_publish, order = threading.Event(), []

    def publish(run: JobContext) -> None:
        assert may_publish.wait(30)
        order.append(run.job)
        run.report_batch(1, 0.1)
        run.stop.wait(30)

    def note(run: JobContext) -> None:
        order.append(run.job)
        run.stop.wait(30)

    bodies = {"ingest": note, "repair": note, "publish": publish}
    runner = start_jobs(worker, *(job(name, body, continuous=True) for name, body in bodies.items()))
    eventually(lambda: order == ["ingest"], 10, "ingest does not wait")
    assert runner.states["repair"].state == "starting"
    may_publish.set()
    eventually(lambda: len(order) == 3, 10, "repair starts")
    assert order == ["ingest", "publish", "repair"]


def test_tasks_of_the_jobs_that_a_credit_waits_for_go_ahead() -> None:
    pools = ET.parse(Path(spark_session.__file__).with_name("scheduler_pools.xml")).getroot()
    assert {pool.get("name"): pool.findtext("minShare") for pool in pools} == dict.fromkeys(
        CREDIT_PATH, "1000"
    )


def test_failed_continuous_job_is_restarted_and_recorded(worker: TaskRunner) -> None:
    body = Counting(fail, until_stopped)
    runner = start_jobs(worker, job("stream", body, continuous=True))
    state = runner.states["stream"]
    eventually(lambda: state.state == "restarting", 10, "it has failed")
    eventually(lambda: len(body.seen) == 2 and state.state == "running", 10, "it runs again")
    assert (state.restarts, state.last_error) == (1, "no luck")
    first, second = recorded_runs(worker.settings.home, "stream")
    assert (first["state"], first["error"], second["state"]) == ("failed", "no luck", "running")
    log = min(run_history.folder(worker.settings.home, "stream").glob("*.log")).read_text()
    assert "failed: no" in log


def test_interrupted_or_failed_scheduled_job_is_retried_before_next_run(worker: TaskRunner) -> None:
    body = Counting(fail)
    yearly = Schedule("0 0 0 1 1 ?", "UTC")
    interrupted_run = run_history.RunLog(worker.settings.home, "model", "schedule", _RunnerWithoutJobs())
    runner = start_jobs(worker, scheduled=(job("model", body, schedule=yearly),))
    eventually(lambda: len(body.seen) == 2, 20, "what was broken off is done again, twice since it failed")
    eventually(lambda: runner.states["model"].state == "scheduled", 10, "it is done")
    states = [reported["state"] for reported in recorded_runs(worker.settings.home, "model")]
    assert states == ["broken off", "failed", "succeeded"]
    assert runner.states["model"].restarts == 2
    interrupted_run.end("stopped")


class _RunnerWithoutJobs(JobRunner):
    def __init__(self) -> None:
        super().__init__([])


def test_tasks_run_in_order_with_their_parameters(worker: TaskRunner) -> None:
    seen: list[tuple[str, bool, str]] = []

    def note(run: JobContext) -> None:
        seen.append((run.job, run.once, run.settings.reporting_currency))

    def task(key: str, *parameters: str) -> Task:
        return Task(key, key, parameters, known=Job(key, note))

    given = BundleJob(
        "both", (task("one", "--reporting_currency=USD"), task("two", "--trigger=available-now"))
    )
    worker.run(given, "command", _RunnerWithoutJobs())
    assert seen == [("one", False, "USD"), ("two", True, "EUR")]
    with pytest.raises(MillraceError, match="does not take the parameters of task odd"):
        worker.run(BundleJob("odd", (task("odd", "--currency=USD"),)), "command", _RunnerWithoutJobs())
    assert recorded_runs(worker.settings.home, "odd")[0]["state"] == "failed"


def test_tasks_are_ordered_by_their_dependencies() -> None:
    def task(key: str, *needs: str) -> dict[str, Any]:
        wheel = {
            "package_name": "millrace",
            "entry_point": key,
            "named_parameters": {"trigger": "continuous"},
        }
        return {
            "task_key": key,
            "depends_on": [{"task_key": need} for need in needs],
            "python_wheel_task": wheel,
        }

    reported = read_job("all", {"tasks": [task("c", "a", "b"), task("b", "a"), task("a")]})
    assert [(each.key, each.parameters) for each in reported.tasks] == [
        (key, ("--trigger=continuous",)) for key in "abc"
    ]
    with pytest.raises(MillraceError, match="wait for each other"):
        read_job("circle", {"tasks": [task("a", "b"), task("b", "a")]})
    with pytest.raises(MillraceError, match="no task d"):
        read_job("gap", {"tasks": [task("a", "d")]})


def test_unsupported_job_settings_are_listed() -> None:
    jobs = {
        "plain": {"name": "plain", "continuous": {}, "run_as": {}, "tasks": [{"task_key": "a"}]},
        "fancy": {
            "max_concurrent_runs": 2,
            "git_source": {},
            "tasks": [{"task_key": "a", "notebook_task": {}, "run_if": "ALL_DONE"}],
        },
    }
    assert sorted(unsupported({"resources": {"jobs": jobs, "pipelines": {"flow": {}}}})) == [
        "job fancy: git_source",
        "job fancy: max_concurrent_runs above 1",
        "job fancy: notebook_task of task a",
        "job fancy: run_if of task a",
        "pipelines: flow",
    ]


def test_run_history_keeps_latest_runs_only(home: Path) -> None:
    for _ in range(run_history.MAX_RUNS + 5):
        run_history.RunLog(home, "busy", "command", _RunnerWithoutJobs()).end("succeeded")
    assert len(recorded_runs(home, "busy")) == run_history.MAX_RUNS + 1  # plus the current one
