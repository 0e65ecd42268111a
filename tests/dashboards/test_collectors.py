"""The collectors shown on a page, read from the message logs of the nodes."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import collectors
import polars as pl
import pytest

from intake.log.entries import Delivered, Tally, Write
from intake.log.message_log import MessageLog
from intake.log.place import log_file
from intake.segment_requests import Message
from lakehouse.timestamps import from_micros

MESSAGE = Message(b"k", b"{}")


def test_sources_of_all_nodes_are_listed_with_their_backlog(tmp_path: Path) -> None:
    assert collectors.by_source(tmp_path).is_empty()
    first, second = (MessageLog(log_file(tmp_path, node)) for node in ("main", "b"))
    first.append(Write("1", "shop", [MESSAGE] * 3)).result()
    first.append(Write("2", "shop", [MESSAGE], is_shed=True)).result()
    first.count("shop", Tally(refused=5))
    oldest, *_ = first.pending(0, 3)
    first.forget(oldest.sequence, [Delivered("1", "shop", 0, 0, oldest.logged_at)])
    second.append(Write("3", "app", [MESSAGE])).result()
    for log in (first, second):
        log.close()
    found = collectors.by_source(tmp_path)
    assert found.select(pl.exclude("oldest")).rows() == [
        ("main", "shop", 3, 4, 2, 1, 5),
        ("b", "app", 1, 1, 1, 0, 0),
    ]
    assert found["oldest"][0] == from_micros(oldest.logged_at)


def test_log_that_is_no_database_is_skipped(tmp_path: Path) -> None:
    file = log_file(tmp_path, "main")
    file.parent.mkdir()
    file.write_bytes(b"x" * 100)
    assert collectors.by_source(tmp_path).is_empty()


def test_backlog_is_read_incrementally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = log_file(tmp_path, "main")
    log = MessageLog(file)
    log.append(Write("1", "shop", [MESSAGE] * 20_000)).result()
    log.append(Write("2", "app", [MESSAGE])).result()
    log.append(Write("3", "quiet", [MESSAGE])).result()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE messages SET logged_at = logged_at - 61000000")
        connection.commit()
    first = sqlite_steps(monkeypatch, tmp_path)
    log.append(Write("4", "shop", [MESSAGE])).result()
    assert sqlite_steps(monkeypatch, tmp_path) < first / 20
    found = collectors.by_source(tmp_path)
    assert found.select("source", "last_minute", "waiting").rows() == [
        ("app", 0, 1),
        ("quiet", 0, 1),
        ("shop", 1, 20_001),
    ]
    last, *_ = log.pending(20_001, 1)
    log.forget(20_002)
    log.append(Write("5", "app", [MESSAGE])).result()
    log.close()
    found = collectors.by_source(tmp_path)
    assert found.select("source", "waiting").rows() == [("app", 1), ("quiet", 0), ("shop", 1)]
    assert found["oldest"].to_list()[1] is None
    assert found["oldest"].to_list()[0] >= found["oldest"].to_list()[2] > from_micros(last.logged_at)


def test_recreated_log_is_read_from_its_start(tmp_path: Path) -> None:
    file = log_file(tmp_path, "main")
    for events in (9, 2):
        log = MessageLog(file)
        log.append(Write("1", "shop", [MESSAGE] * events)).result()
        log.forget(events - 1)
        log.close()
        (row,) = collectors.by_source(tmp_path).rows(named=True)
        assert (row["last_minute"], row["waiting"]) == (1, 1)
        assert row["oldest"] is not None
        for part in file.parent.iterdir():
            part.unlink()


def sqlite_steps(monkeypatch: pytest.MonkeyPatch, home: Path) -> int:
    """The steps of SQLite's virtual machine, in hundreds, of one read of the collectors."""
    steps = [1]
    connect = sqlite3.connect

    def counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_progress_handler(lambda: steps.append(1), 100)
        return connection

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", counted)
        collectors.by_source(home)
    return len(steps)
