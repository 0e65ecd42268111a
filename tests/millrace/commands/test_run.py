"""`millrace run`: which jobs the bundle has, and which of them have an end."""

import pytest
from typer.testing import CliRunner

from lakehouse.settings import Settings
from millrace.cli import app, register_commands
from millrace.commands import run
from millrace.local.bundle.jobs import bundle_jobs

CONTINUOUS = {"ingest", "refine", "repair", "publish"}


def test_the_engine_runs_the_continuous_jobs_of_the_bundle() -> None:
    jobs = bundle_jobs()
    assert {name for name, job in jobs.items() if job.is_continuous} == CONTINUOUS
    assert "attribution-model" in jobs
    for name, job in jobs.items():
        assert [each.name for each in job.jobs] == [name]


@pytest.mark.parametrize(
    ("arguments", "way"),
    [
        (["ingest", "attribution-model"], "on"),
        (["attribution-model"], "once"),
        (["attribution-model", "--once"], "once"),
        (["ingest", "--once"], "once"),
    ],
)
def test_jobs_on_a_schedule_alone_run_to_their_end(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], way: str
) -> None:
    taken = []

    def take(name: str) -> object:
        return lambda settings, names: taken.append((name, names))

    def no_engine(settings: Settings, names: list[str]) -> bool:
        return False

    monkeypatch.setattr(run, "_run_on", take("on"))
    monkeypatch.setattr(run, "run_jobs", take("once"))
    monkeypatch.setattr(run, "_wait_for_engine", no_engine)
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ["run", *arguments])
    assert answer.exception is None
    assert taken == [(way, [name for name in arguments if not name.startswith("-")])]
