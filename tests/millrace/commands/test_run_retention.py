"""Which jobs `millrace run retention` runs where no engine does."""

from pathlib import Path

import pytest

from lakehouse.settings import load_settings
from millrace.commands.run import run_jobs


def test_jobs_that_an_erasure_waits_for_run_before_retention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(
        "millrace.local.engine.run_once.run_once", lambda _, jobs: ran.extend(job.name for job in jobs) or {}
    )
    run_jobs(load_settings(home=tmp_path), ["maintenance", "retention"])
    assert ran == ["refine", "repair", "publish", "maintenance", "retention"]
    ran.clear()
    run_jobs(load_settings(home=tmp_path), ["maintenance"])
    assert ran == ["maintenance"]
