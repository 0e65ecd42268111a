"""Progress lines of a job that catches up."""

import pytest

from millrace.local.engine.job_progress import console_watcher


def test_last_progress_line_counts_rows_despite_offset_gaps(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with console_watcher("ingest") as listener:
        listener.report_backlog("ingest", 7)  # transactions leave gaps: 4 of these offsets are records
        listener.report_batch("ingest", 4, 1.5)
    first, last = capsys.readouterr().err.splitlines()
    assert "4 of 7 rows" in first
    assert last.startswith("ingest: 4 rows")


def run_failing_job() -> None:
    with console_watcher("ingest") as listener:
        listener.report_backlog("ingest", 7)
        listener.report_batch("ingest", 4, 1.5)
        raise RuntimeError


def test_failed_job_prints_no_last_progress_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError):
        run_failing_job()
    assert len(capsys.readouterr().err.splitlines()) == 1
