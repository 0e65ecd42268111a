"""The collector's log: durable, in order, within its budget."""

import sqlite3
import stat
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import closing
from pathlib import Path

import pytest

from intake.log import schema, writer
from intake.log.accounts import Account, read_accounts, read_counts, replay_shed
from intake.log.entries import Delivered, Tally, Write
from intake.log.message_log import Budget, MessageLog, OverloadedError, UnavailableError
from intake.log.receipts import Receipt, read_receipt
from intake.log.writer import LogWriter
from intake.segment_requests import Message
from kit.broken_log import BreakableConnection
from lakehouse.errors import MillraceError
from lakehouse.timestamps import from_micros

SECONDS = 5.0


def message(number: int, size: int = 10) -> Message:
    return Message(b"k", str(number).encode().ljust(size))


def append(
    log: MessageLog, receipt: str, messages: Sequence[Message], source: str = "s", is_shed: bool = False
) -> "Future[None]":
    return log.append(Write(receipt, source, messages, is_shed))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "collect" / "messages.db"


def values(log: MessageLog, after: int = 0) -> list[int]:
    return [int(each.value or b"") for each in log.pending(after, 1000)]


def test_acknowledged_messages_stay_in_order_across_restart(file: Path) -> None:
    log = MessageLog(file)
    written = [append(log, "r", [message(2 * number), message(2 * number + 1)]) for number in range(20)]
    wait(written)
    assert values(log) == list(range(40))
    assert (log.totals.waiting, log.totals.size) == (40, 400)
    log.close()
    again = MessageLog(file)
    assert values(again) == list(range(40))
    assert (again.totals.waiting, again.totals.size) == (40, 400)
    again.close()


def test_log_is_readable_by_its_owner_only(file: Path) -> None:
    file.parent.mkdir()
    file.touch(mode=0o644)  # as earlier releases created it
    log = MessageLog(file)
    wait([append(log, "r", [message(1)])])
    assert {stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()} == {0o600}
    log.close()


def test_forwarded_messages_are_removed_and_sequence_continues(file: Path) -> None:
    log = MessageLog(file)
    append(log, "r", [message(1), message(2)]).result()
    first, second = log.pending(0, 10)
    log.forget(first.sequence)
    append(log, "r", [message(3)]).result()
    assert values(log) == [2, 3]
    assert log.totals.size == 20
    log.forget(second.sequence + 1)
    log.close()
    again = MessageLog(file)
    append(again, "r", [message(4)]).result()
    (only,) = again.pending(0, 10)
    assert only.sequence > second.sequence + 1
    again.close()


def test_pending_messages_are_limited_by_bytes(file: Path) -> None:
    log = MessageLog(file)
    append(log, "r", [message(number, 1 << 20) for number in range(9)]).result()
    found = [log.pending(after, 1000) for after in (0, 4, 8)]
    assert [[each.sequence for each in some] for some in found] == [[1, 2, 3, 4], [5, 6, 7, 8], [9]]
    log.close()


def test_messages_beyond_the_budget_are_refused(file: Path) -> None:
    log = MessageLog(file, Budget(queued=1000, logged=25))
    append(log, "r", [message(1), message(2)]).result()
    with pytest.raises(OverloadedError):
        append(log, "r", [message(3)])
    log.forget(log.pending(0, 1)[0].sequence)
    append(log, "r", []).result()
    append(log, "r", [message(3)]).result()
    assert values(log) == [2, 3]
    with pytest.raises(OverloadedError):
        append(MessageLog(file.with_name("other.db"), Budget(queued=5)), "r", [message(1)])
    log.close()


def test_full_disk_raises_unavailable_error_and_loses_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MessageLog(file)
    append(log, "r", [message(1)]).result()
    log.close()
    with sqlite3.connect(file) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    opened = sqlite3.connect

    def open_with_page_limit(*args: object, **more: object) -> sqlite3.Connection:
        connection = opened(*args, **more)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", open_with_page_limit)
    full = MessageLog(file)
    with pytest.raises(UnavailableError):
        append(full, "r", [message(2, 100_000)]).result()
    assert full.totals.waiting == 1
    append(full, "r", [message(3)]).result()
    assert values(full) == [1, 3]
    full.close()


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[BreakableConnection]:
    """The connections of logs for writing."""
    opened: list[BreakableConnection] = []

    def open_writer(file: Path) -> BreakableConnection:
        opened.append(BreakableConnection(file))
        return opened[-1]

    monkeypatch.setattr(writer, "open_log", open_writer)
    return opened


def test_every_request_is_answered_while_the_log_can_not_be_read(
    file: Path, connections: list[BreakableConnection]
) -> None:
    log = MessageLog(file)
    connections[0].is_broken = True
    for number in range(2):
        with pytest.raises(UnavailableError, match="disk I/O error"):
            append(log, "r", [message(number)]).result(SECONDS)
    connections[0].is_broken = False
    append(log, "r", [message(2)]).result(SECONDS)
    assert (values(log), log.totals.waiting, log.load.queued) == ([2], 1, 0)
    log.close()


def test_message_that_kafka_does_not_take_is_shed_once_the_log_can_be_written(
    file: Path, connections: list[BreakableConnection]
) -> None:
    log = MessageLog(file)
    append(log, "r", [message(1), message(2), message(3)]).result()
    connections[0].is_broken = True
    log.forget(2, [Delivered("r", "s", 0, 0, 1)], [2])
    with pytest.raises(UnavailableError):
        append(log, "r", [message(4)]).result(SECONDS)
    connections[0].is_broken = False
    append(log, "r", [message(5)]).result(SECONDS)
    assert (values(log), log.totals.shed, log.totals.shed_size) == ([3, 5], 1, 10)
    log.close()
    assert read_accounts(file) == read_counts(file) == [Account("s", 4, 1, 2, 1, 0, 0, 0)]


def test_totals_are_right_under_concurrent_writes_and_removals(file: Path) -> None:
    log, reached = MessageLog(file), 0
    written = [append(log, "r", [message(number)]) for number in range(2000)]
    while reached < 2000:
        for each in log.pending(reached, 3):
            log.forget(each.sequence)
            reached = each.sequence
    wait(written)
    append(log, "r", []).result()
    assert (log.totals.waiting, log.totals.size, values(log)) == (0, 0, [])
    log.close()


def test_receipt_shows_waiting_shed_and_delivered_messages(file: Path) -> None:
    assert not read_receipt(file, "a").is_known
    log = MessageLog(file)
    append(log, "a", [message(1), message(2)]).result()
    append(log, "b", [message(3)]).result()
    append(log, "d", [message(4)], is_shed=True).result()
    first, *_ = log.pending(0, 1)
    log.forget(first.sequence, [Delivered("a", "s", 1, 7, first.logged_at)])
    append(log, "c", []).result()
    at = from_micros(first.logged_at)
    assert read_receipt(file, "a") == Receipt(1, 0, (Delivered("a", "s", 1, 7, first.logged_at),), at)
    assert (read_receipt(file, "b").waiting, read_receipt(file, "d").shed) == (1, 1)
    log.close()


def test_delivered_offsets_expire_after_a_week_while_log_is_open(file: Path) -> None:
    log = MessageLog(file)
    log.forget(0, [Delivered("old", "s", 0, 1, 1)])
    append(log, "r", []).result()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE delivered SET at = at - 8 * 24 * 3600 * 1000000")
    log.forget(0, [Delivered("new", "s", 0, 2, 1)])
    append(log, "r", []).result()
    assert not read_receipt(file, "old").is_known
    assert read_receipt(file, "new").delivered == (Delivered("new", "s", 0, 2, 1),)
    log.close()


def test_a_commit_after_downtime_deletes_expired_offsets_in_part(file: Path) -> None:
    schema.create_log(file)
    expired = [(f"old{number}", "s", 0, number, 1, 1) for number in range(2500)]
    left = []
    with closing(LogWriter(file)) as log, closing(sqlite3.connect(file)) as connection:
        with connection:
            connection.executemany("INSERT INTO delivered VALUES (?, ?, ?, ?, ?, ?)", expired)
        for number in range(3):
            log.commit([], 0, [Delivered("new", "s", 0, 2500 + number, 1)], {})
            left += connection.execute("SELECT count(*) FROM delivered WHERE receipt <> 'new'").fetchone()
    assert left == [1499, 498, 0]


def test_offsets_beyond_the_latest_ones_are_removed(file: Path) -> None:
    schema.create_log(file)
    with closing(LogWriter(file, most_offsets=5)) as log:
        for number in range(4):
            offsets = range(3 * number, 3 * number + 3)
            log.commit([], 0, [Delivered(f"r{number}", "s", 0, each, 1) for each in offsets], {})
    kept = [len(read_receipt(file, f"r{number}").delivered) for number in range(4)]
    assert kept == [0, 0, 2, 3]


def test_accounts_count_each_acknowledged_event_by_source(file: Path) -> None:
    log = MessageLog(file)
    append(log, "1", [message(1), message(2)], "a").result()
    append(log, "2", [message(3)], "b").result()
    append(log, "3", [message(4)], "b", is_shed=True).result()
    log.append(Write("4", "b", promise="2026-11-02T10:00:00Z")).result()
    log.count("b", Tally(refused=7))
    log.forget(log.pending(0, 1)[0].sequence)
    log.close()
    assert read_accounts(file) == [
        Account("a", 2, 1, 1, shed=0, lost=0, refused=0, replayed=0),
        Account("b", 2, 0, 1, shed=1, lost=0, refused=7, replayed=0),
    ]
    assert [account.missing for account in read_accounts(file)] == [0, 0]
    assert read_counts(file) == read_accounts(file)


def test_shed_events_are_replayed_once_while_log_is_open(file: Path) -> None:
    log = MessageLog(file)
    append(log, "1", [message(1)], "a").result()
    wait([append(log, "2", [message(number)], "b", is_shed=True) for number in range(10, 2510)])
    append(log, "3", [message(3)], "c", is_shed=True).result()
    assert (values(log), log.totals.shed) == ([1], 2501)
    assert replay_shed(file, "b") == 2500
    assert replay_shed(file, "b") == 0
    append(log, "4", [message(4)], "a").result()
    assert (log.totals.waiting, log.totals.shed) == (2502, 1)
    assert sorted(int(each.value or b"") for each in log.pending(0, 5000)) == [1, 4, *range(10, 2510)]
    assert replay_shed(file) == 1
    log.close()
    assert read_counts(file) == read_accounts(file)
    assert [(each.missing, each.shed, each.replayed) for each in read_accounts(file)] == [
        (0, 0, 0),
        (0, 0, 2500),
        (0, 0, 1),
    ]


def test_shed_events_beyond_the_budget_are_refused(file: Path) -> None:
    log = MessageLog(file, Budget(shed=15))
    append(log, "1", [message(1)], is_shed=True).result()
    with pytest.raises(OverloadedError):
        append(log, "2", [message(2)], is_shed=True)
    append(log, "2", [message(2)]).result()
    assert log.load.shed == pytest.approx(10 / 15)
    log.close()


def test_open_leases_survive_restart(file: Path) -> None:
    log = MessageLog(file)
    for source, promise in (("a", "2026-11-02T10:00:00Z"), ("b", "2026-11-02T10:00:00Z"), ("b", "end")):
        log.append(Write(source=source, promise=promise)).result()
    log.close()
    again = MessageLog(file)
    assert again.held_leases == ["a"]
    assert [each.promise for each in again.pending(0, 10)] == ["2026-11-02T10:00:00Z"] * 2 + ["end"]
    again.close()


@pytest.mark.parametrize("is_renamed", [False, True])
def test_log_from_before_sources_is_migrated(
    file: Path, monkeypatch: pytest.MonkeyPatch, is_renamed: bool
) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(
            """
            CREATE TABLE messages (
                sequence INTEGER PRIMARY KEY AUTOINCREMENT, receipt TEXT, key BLOB, value BLOB
            );
            CREATE TABLE delivered (receipt TEXT, partition INTEGER, offset INTEGER);
            INSERT INTO messages VALUES (5, 'r', NULL, CAST('7' AS BLOB));
            """
        )
    with monkeypatch.context() as interrupted:
        interrupted.setattr(schema, "_VERSION", "2; SELECT no_such_function()")  # an error before the commit
        with pytest.raises(MillraceError):
            MessageLog(file)
    if is_renamed:  # as an earlier release left it when it was interrupted
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.executescript(schema._RENAME)
    log = MessageLog(file)
    append(log, "s", [message(8)]).result()
    assert values(log) == [7, 8]
    log.close()
    assert [(each.source, each.missing) for each in read_accounts(file)] == [("local", 0), ("s", 0)]
