"""The read log: reads are appended to ops.reads, and failures of the log never fail a read."""

import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kit.home import ROOT
from kit.polling import eventually
from lakehouse.access.read_log import ReadLog, read_log
from lakehouse.contracts.ops import READS
from lakehouse.settings import Settings

FLUSH_INTERVAL = 3600.0  # seconds: longer than a test


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class RecordingWriter:
    """A writer that keeps its rows, and fails its first calls."""

    def __init__(self, failures: int = 0) -> None:
        self.rows: list[dict[str, Any]] = []
        self.failures = failures
        self.calls = 0

    def __call__(self, rows: pa.Table) -> None:
        self.calls += 1
        if self.calls <= self.failures:
            raise OSError("no space left")
        self.rows += rows.to_pylist()

    @property
    def versions(self) -> list[int]:
        return [row["version"] for row in self.rows]


def note(log: ReadLog, version: int, reader: str = "ann", subject: str = "SELECT 1") -> None:
    log.note(reader, "admin", "sql", {"gold.traffic": version}, subject, 7)


def test_read_is_logged_as_one_row_per_table() -> None:
    written = RecordingWriter()
    log = ReadLog(written, FLUSH_INTERVAL)
    log.note("ann", "analyst", "api", {"gold.traffic": 3, "gold.funnel": 0, "gold.touches": -1}, "q" * 2_000)
    log.close()
    assert [(row["table_name"], row["version"], row["rows"]) for row in written.rows] == [
        ("gold.traffic", 3, None),
        ("gold.funnel", 0, None),
    ]
    (row, _) = written.rows
    assert (row["reader"], row["role"], row["way"]) == ("ann", "analyst", "api")
    assert row["subject"] == "q" * 1_000


def test_reads_are_buffered_and_written_on_close() -> None:
    written = RecordingWriter()
    log = ReadLog(written, FLUSH_INTERVAL)
    note(log, 1)
    note(log, 2)
    assert written.calls == 0
    log.close()
    assert (written.calls, written.versions) == (1, [1, 2])


def test_buffered_reads_are_written_after_flush_interval() -> None:
    written = RecordingWriter()
    log = ReadLog(written, 0.05)
    note(log, 1)
    eventually(lambda: written.versions == [1], what="the first read")
    note(log, 2)
    eventually(lambda: written.versions == [1, 2], what="the second read")


def test_repeated_read_is_logged_once_per_hour() -> None:
    written, clock = RecordingWriter(), Clock()
    log = ReadLog(written, FLUSH_INTERVAL, clock)
    for now in (0.0, 10.0, 3_599.0, 3_600.0):
        clock.now = now
        note(log, 1)
    log.close()
    assert written.versions == [1, 1]


@pytest.mark.parametrize("other", [{"version": 2}, {"reader": "eve"}, {"subject": "SELECT 2"}])
def test_read_with_other_version_reader_or_subject_is_logged_again(other: dict[str, Any]) -> None:
    written = RecordingWriter()
    log = ReadLog(written, FLUSH_INTERVAL)
    note(log, 1)
    note(log, **{"version": 1, **other})
    log.close()
    assert len(written.rows) == 2


def test_failed_write_is_warned_about_once_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    written = RecordingWriter(failures=2)
    log = ReadLog(written, FLUSH_INTERVAL)
    with caplog.at_level(logging.WARNING, "millrace.reads"):
        for version in (1, 2, 3):
            note(log, version)
            log.flush()
    assert written.versions == [1, 2, 3]
    assert len(caplog.records) == 1
    assert "no space left" in caplog.text


def test_read_log_buffer_keeps_latest_reads_only() -> None:
    written = RecordingWriter(failures=1)
    log = ReadLog(written, FLUSH_INTERVAL)
    for version in range(10_001):
        note(log, version)
    log.flush()
    note(log, 10_001)
    log.flush()
    assert written.versions == list(range(2, 10_002))


def test_note_does_not_block_on_running_write() -> None:
    writing, release_write = threading.Event(), threading.Event()

    def write(rows: pa.Table) -> None:
        writing.set()
        assert release_write.wait(30)

    log = ReadLog(write, FLUSH_INTERVAL)
    note(log, 1)
    flush = threading.Thread(target=log.flush)
    flush.start()
    assert writing.wait(30)
    noting = threading.Thread(target=note, args=(log, 2))
    noting.start()
    noting.join(10)
    is_blocked = noting.is_alive()
    release_write.set()
    flush.join(30)
    log.close()
    assert not is_blocked


@pytest.mark.parametrize("setting", [{}, {"record_reads": False}, {"catalog": "shop"}])
def test_read_log_is_absent_by_default(tmp_path: Path, setting: dict[str, Any]) -> None:
    assert read_log(Settings(home=tmp_path, **setting)) is None


def test_buffered_reads_are_written_when_process_exits(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from lakehouse.access.read_log import log_of
log_of(Path(sys.argv[1]) / "warehouse").note("ann", "admin", "page", {"a.b": 1}, "x")
assert not {"pyspark", "duckdb", "pydantic_settings"} & set(sys.modules), "pages are without them"
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, cwd=ROOT)
    from deltalake import DeltaTable

    rows = DeltaTable(tmp_path / "warehouse" / "ops" / "reads").to_pyarrow_table()
    assert rows.column_names == list(READS.column_names)
    assert rows["reader"].to_pylist() == ["ann"]


def test_unwritable_home_does_not_fail_a_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "warehouse").write_text("no folder")
    log = read_log(Settings(home=tmp_path, record_reads=True))
    assert log is not None
    note(log, 1)
    log.close()
    assert "Reads can't be written to ops.reads" in caplog.text


def test_removed_read_log_table_is_recreated(tmp_path: Path) -> None:
    import shutil

    from deltalake import DeltaTable

    folder = tmp_path / "warehouse" / "ops" / "reads"
    log = read_log(Settings(home=tmp_path, record_reads=True))
    assert log is not None
    note(log, 1)
    log.flush()
    shutil.rmtree(folder)
    note(log, 2)
    log.close()
    assert DeltaTable(folder).to_pyarrow_table()["version"].to_pylist() == [2]
