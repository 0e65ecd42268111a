"""Progress lines of a job that catches up."""

import pytest

from millrace.local.engine.job_progress import console_watcher


def test_a_job_that_has_caught_up_says_what_it_did_though_offsets_have_gaps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with console_watcher("ingest") as listener:
        listener.report_backlog("ingest", 7)  # transactions leave gaps: 4 of these offsets are records
        listener.report_batch("ingest", 4, 1.5)
    first, last = capsys.readouterr().err.splitlines()
    assert "4 of 7 rows" in first
    assert last.startswith("ingest: 4 rows")


def fail() -> None:
    with console_watcher("ingest") as listener:
        listener.report_backlog("ingest", 7)
        listener.report_batch("ingest", 4, 1.5)
        raise RuntimeError


def test_a_job_that_fails_claims_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError):
        fail()
    assert len(capsys.readouterr().err.splitlines()) == 1
