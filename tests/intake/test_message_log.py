"""The collector's log: durable, in order, within its budget."""

import sqlite3
from concurrent.futures import wait
from contextlib import closing
from pathlib import Path

import pytest

from intake.message_log import (
    Budget,
    Delivered,
    MessageLog,
    OverloadedError,
    UnavailableError,
)
from intake.receipts import Receipt, read_receipt
from intake.segment_requests import Message


def message(number: int, size: int = 10) -> Message:
    return Message(b"k", str(number).encode().ljust(size))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "collect" / "messages.db"


def values(log: MessageLog, after: int = 0) -> list[int]:
    return [int(each.value) for each in log.pending(after, 1000)]


def test_what_is_acknowledged_is_there_in_order_also_after_a_restart(file: Path) -> None:
    log = MessageLog(file)
    written = [log.append("r", [message(2 * number), message(2 * number + 1)]) for number in range(20)]
    wait(written)
    assert values(log) == list(range(40))
    assert (log.waiting, log.size) == (40, 400)
    log.close()
    again = MessageLog(file)
    assert values(again) == list(range(40))
    assert (again.waiting, again.size) == (40, 400)
    again.close()


def test_what_kafka_has_is_removed_and_numbers_go_on(file: Path) -> None:
    log = MessageLog(file)
    log.append("r", [message(1), message(2)]).result()
    first, second = log.pending(0, 10)
    log.forget(first.sequence)
    log.append("r", [message(3)]).result()
    assert values(log) == [2, 3]
    assert log.size == 20
    log.forget(second.sequence + 1)
    log.close()
    again = MessageLog(file)
    again.append("r", [message(4)]).result()
    (only,) = again.pending(0, 10)
    assert only.sequence > second.sequence + 1
    again.close()


def test_no_more_is_taken_than_the_budget_allows(file: Path) -> None:
    log = MessageLog(file, Budget(queued=1000, logged=25))
    log.append("r", [message(1), message(2)]).result()
    with pytest.raises(OverloadedError):
        log.append("r", [message(3)])
    log.forget(log.pending(0, 1)[0].sequence)
    log.append("r", []).result()
    log.append("r", [message(3)]).result()
    assert values(log) == [2, 3]
    with pytest.raises(OverloadedError):
        MessageLog(file.with_name("other.db"), Budget(queued=5)).append("r", [message(1)])
    log.close()


def test_a_full_disk_is_told_and_nothing_is_lost(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = MessageLog(file)
    log.append("r", [message(1)]).result()
    log.close()
    with sqlite3.connect(file) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    opened = sqlite3.connect

    def small(*args: object, **more: object) -> sqlite3.Connection:
        connection = opened(*args, **more)  # type: ignore[call-overload]
        connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    full = MessageLog(file)
    with pytest.raises(UnavailableError):
        full.append("r", [message(2, 100_000)]).result()
    assert full.waiting == 1
    full.append("r", [message(3)]).result()
    assert values(full) == [1, 3]
    full.close()


def test_counts_are_right_while_messages_are_written_and_forgotten_at_once(file: Path) -> None:
    log, reached = MessageLog(file), 0
    written = [log.append("r", [message(number)]) for number in range(2000)]
    while reached < 2000:
        for each in log.pending(reached, 3):
            log.forget(each.sequence)
            reached = each.sequence
    wait(written)
    log.append("r", []).result()
    assert (log.waiting, log.size, values(log)) == (0, 0, [])
    log.close()


def test_a_receipt_says_what_waits_and_where_the_rest_is(file: Path) -> None:
    assert read_receipt(file, "a") == Receipt(0, ())
    log = MessageLog(file)
    log.append("a", [message(1), message(2)]).result()
    log.append("b", [message(3)]).result()
    first, *_ = log.pending(0, 1)
    log.forget(first.sequence, [Delivered("a", 1, 7)])
    log.append("c", []).result()
    assert read_receipt(file, "a") == Receipt(1, (Delivered("a", 1, 7),))
    assert read_receipt(file, "b") == Receipt(1, ())
    log.close()


def test_places_are_forgotten_after_a_week_while_the_log_is_open(file: Path) -> None:
    log = MessageLog(file)
    log.forget(0, [Delivered("old", 0, 1)])
    log.append("r", []).result()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE delivered SET at = at - 8 * 24 * 3600")
    log.forget(0, [Delivered("new", 0, 2)])
    log.append("r", []).result()
    assert read_receipt(file, "old") == Receipt(0, ())
    assert read_receipt(file, "new") == Receipt(0, (Delivered("new", 0, 2),))
    log.close()
