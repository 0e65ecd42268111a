"""Kill or stop the pipeline at different moments: it ends with the tables of an undisturbed run."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.home import JOBS, Home
from kit.processes import Pipeline, assert_nothing_runs, seconds_of
from kit.tables import commits, differences

JAVA_ENDED = "millrace: Spark's Java process ended while {job} ran. Run the same command again"


def kill_group(pipeline: Pipeline, job: str) -> None:
    pipeline.kill_group()


def kill_java(pipeline: Pipeline, job: str) -> None:
    pipeline.java().kill()
    assert seconds_of(lambda: pipeline.ends(30)) < 10
    assert pipeline.process.returncode == 1
    (line,) = pipeline.reported
    assert line.startswith(JAVA_ENDED.format(job=job))


def stop(pipeline: Pipeline, job: str) -> None:
    pipeline.process.send_signal(signal.SIGINT if job == "refine" else signal.SIGTERM)
    assert seconds_of(lambda: pipeline.ends(30)) < 10
    assert pipeline.process.returncode == 1
    assert pipeline.reported == [f"millrace: {job} was stopped. Run it again: it goes on where it stopped."]


# A moment is a number of commits of a table, its creation included. The next step of the job (another table,
# the ledger) is cut off.
@pytest.mark.parametrize(
    ("kill", "moments"),
    [
        (
            kill_group,
            [
                ("ingest", "bronze.kafka_records", 3),
                ("refine", "silver.events", 3),
                ("publish", "gold.attribution", 2),
            ],
        ),
        (
            kill_java,
            [
                ("ingest", "bronze.kafka_records", 2),
                ("refine", "silver.sessions", 3),
                ("publish", "gold.conversions", 3),
            ],
        ),
        (
            stop,
            [
                ("ingest", "bronze.kafka_records", 2),
                ("refine", "silver.events", 2),
                ("publish", "gold.attribution", 2),
            ],
        ),
    ],
)
def test_pipeline_interrupted_three_times_equals_undisturbed_run(
    undisturbed_home: Home,
    tmp_path: Path,
    kill: Callable[[Pipeline, str], None],
    moments: list[tuple[str, str, int]],
) -> None:
    home = undisturbed_home.twin(tmp_path / "home")
    for job, table, reached in moments:
        with Pipeline(home) as pipeline:
            pipeline.reaches(lambda table=table, reached=reached: commits(home, table) >= reached)
            kill(pipeline, job)
        assert_nothing_runs(home.path)
    home.must("run", *JOBS, "--once")
    home.must("audit")
    assert differences(home, undisturbed_home) == {}


def test_stop_while_spark_starts_ends_within_ten_seconds(undisturbed_home: Home, tmp_path: Path) -> None:
    home = undisturbed_home.twin(tmp_path / "home")
    with Pipeline(home) as pipeline:
        pipeline.reaches(lambda: bool(pipeline.children()))
        pipeline.process.send_signal(signal.SIGTERM)
        assert seconds_of(lambda: pipeline.ends(30)) < 10
        assert pipeline.process.returncode == 1
        (line,) = pipeline.reported
    assert line.startswith("millrace: stopped before Spark was ready. ")
    assert_nothing_runs(home.path, seconds=2)
