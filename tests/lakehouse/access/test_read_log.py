"""The log of reads: what is noted is appended, and nothing that goes wrong with it reaches a reader."""

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

WAITS = 3600.0  # seconds: longer than a test


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Written:
    """Rows that were written, and how often it is refused before."""

    def __init__(self, refused: int = 0) -> None:
        self.rows: list[dict[str, Any]] = []
        self.refused = refused
        self.calls = 0

    def __call__(self, rows: pa.Table) -> None:
        self.calls += 1
        if self.calls <= self.refused:
            raise OSError("no space left")
        self.rows += rows.to_pylist()

    @property
    def versions(self) -> list[int]:
        return [row["version"] for row in self.rows]


def note(log: ReadLog, version: int, reader: str = "ann", subject: str = "SELECT 1") -> None:
    log.note(reader, "admin", "sql", {"gold.traffic": version}, subject, 7)


def test_each_table_of_a_read_is_a_row() -> None:
    written = Written()
    log = ReadLog(written, WAITS)
    log.note("ann", "analyst", "api", {"gold.traffic": 3, "gold.funnel": 0, "gold.touches": -1}, "q" * 2_000)
    log.close()
    assert [(row["table_name"], row["version"], row["rows"]) for row in written.rows] == [
        ("gold.traffic", 3, None),
        ("gold.funnel", 0, None),
    ]
    (row, _) = written.rows
    assert (row["reader"], row["role"], row["way"]) == ("ann", "analyst", "api")
    assert row["subject"] == "q" * 1_000


def test_nothing_is_written_until_the_interval_is_over() -> None:
    written = Written()
    log = ReadLog(written, WAITS)
    note(log, 1)
    note(log, 2)
    assert written.calls == 0
    log.close()
    assert (written.calls, written.versions) == (1, [1, 2])


def test_the_buffer_is_written_after_the_interval() -> None:
    written = Written()
    log = ReadLog(written, 0.05)
    note(log, 1)
    eventually(lambda: written.versions == [1], what="the first read")
    note(log, 2)
    eventually(lambda: written.versions == [1, 2], what="the second read")


def test_the_same_read_is_one_row_an_hour() -> None:
    written, clock = Written(), Clock()
    log = ReadLog(written, WAITS, clock)
    for now in (0.0, 10.0, 3_599.0, 3_600.0):
        clock.now = now
        note(log, 1)
    log.close()
    assert written.versions == [1, 1]


@pytest.mark.parametrize("other", [{"version": 2}, {"reader": "eve"}, {"subject": "SELECT 2"}])
def test_another_version_reader_or_subject_is_another_read(other: dict[str, Any]) -> None:
    written = Written()
    log = ReadLog(written, WAITS)
    note(log, 1)
    note(log, **{"version": 1, **other})
    log.close()
    assert len(written.rows) == 2


def test_a_write_that_fails_is_logged_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    written = Written(refused=2)
    log = ReadLog(written, WAITS)
    with caplog.at_level(logging.WARNING, "millrace.reads"):
        for version in (1, 2, 3):
            note(log, version)
            log.flush()
    assert written.versions == [1, 2, 3]
    assert len(caplog.records) == 1
    assert "no space left" in caplog.text


def test_what_waits_is_limited_to_the_latest_reads() -> None:
    written = Written(refused=1)
    log = ReadLog(written, WAITS)
    for version in range(10_001):
        note(log, version)
    log.flush()
    note(log, 10_001)
    log.flush()
    assert written.versions == list(range(2, 10_002))


def test_a_note_does_not_wait_for_a_write() -> None:
    writing, go_on = threading.Event(), threading.Event()

    def write(rows: pa.Table) -> None:
        writing.set()
        assert go_on.wait(30)

    log = ReadLog(write, WAITS)
    note(log, 1)
    flush = threading.Thread(target=log.flush)
    flush.start()
    assert writing.wait(30)
    note(log, 2)  # would never return, if it waited
    go_on.set()
    flush.join(30)
    log.close()


@pytest.mark.parametrize("setting", [{"record_reads": False}, {"record_reads": True, "catalog": "shop"}])
def test_there_is_no_log_by_default_and_none_in_a_catalog(tmp_path: Path, setting: dict[str, Any]) -> None:
    assert read_log(Settings(home=tmp_path, **setting)) is None


def test_reads_are_in_the_table_after_a_process_ends(tmp_path: Path) -> None:
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


def test_a_home_that_can_not_be_written_to_stops_no_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "warehouse").write_text("no folder")
    log = read_log(Settings(home=tmp_path, record_reads=True))
    assert log is not None
    note(log, 1)
    log.close()
    assert "Reads can't be written to ops.reads" in caplog.text


def test_a_table_that_was_removed_is_made_again(tmp_path: Path) -> None:
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
