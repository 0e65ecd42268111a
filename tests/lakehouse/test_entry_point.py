"""A job that runs as an entry point, with a simulated Spark session."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakehouse.entry_point import Job
from lakehouse.run import job_session
from lakehouse.run.job import JobContext


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def get_or_start_session(_: Any) -> Iterator[Any]:
        yield SimpleNamespace()

    monkeypatch.setattr(job_session, "get_or_start_session", get_or_start_session)


def test_log_lines_of_a_job_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def body(run: JobContext) -> None:
        run.log("gold is held: 3 expectations fail")

    with ThreadPoolExecutor(1) as thread:  # the main thread would keep the job's handler of SIGTERM
        thread.submit(Job("publish", body), [f"--home={tmp_path}"]).result()
    assert capsys.readouterr().out == "publish: gold is held: 3 expectations fail\n"
