"""`millrace run`: continuous and scheduled jobs of the bundle."""

import pytest
from typer.testing import CliRunner

from lakehouse.settings import Settings
from millrace.cli import app, register_commands
from millrace.commands import run
from millrace.local.bundle.jobs import bundle_jobs

CONTINUOUS = {"ingest", "refine", "repair", "publish", "dimensions"}


def test_bundle_declares_continuous_jobs_of_the_engine() -> None:
    jobs = bundle_jobs()
    assert {name for name, job in jobs.items() if job.is_continuous} == CONTINUOUS
    assert "attribution-model" in jobs
    for name, job in jobs.items():
        assert [each.name for each in job.jobs] == [name]


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        (["ingest", "attribution-model"], "on"),
        (["attribution-model"], "once"),
        (["attribution-model", "--once"], "once"),
        (["ingest", "--once"], "once"),
    ],
)
def test_scheduled_jobs_alone_run_once(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], mode: str
) -> None:
    calls = []

    def recorder_of(name: str) -> object:
        return lambda settings, names: calls.append((name, names))

    def no_engine(settings: Settings, names: list[str]) -> bool:
        return False

    monkeypatch.setattr(run, "_run_on", recorder_of("on"))
    monkeypatch.setattr(run, "run_jobs", recorder_of("once"))
    monkeypatch.setattr(run, "_wait_for_engine", no_engine)
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ["run", *arguments])
    assert answer.exception is None
    assert calls == [(mode, [name for name in arguments if not name.startswith("-")])]
