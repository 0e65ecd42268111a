"""When capture commits, and when it takes a snapshot. Needs no PostgreSQL and no Kafka."""

from typing import Any
from unittest.mock import create_autospec

import psycopg
import pytest

from kit.shop_database import SOURCE
from lakehouse.errors import MillraceError
from shop.capture import follow
from shop.capture.change_topic import ChangeTopic, Position
from shop.capture.database import Database, Slot
from shop.capture.follow import Capture, _Batch
from shop.capture.pgoutput import Begin, Commit
from shop.capture.replication import CreatedSlot, KeepAlive, Replication


class Clock:
    """A clock for `time.monotonic`."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(follow, "time", clock)
    return clock


def test_unchanged_position_is_committed_every_hour(clock: Clock) -> None:
    batch = _Batch(7)
    batch.note(KeepAlive(7))
    clock.now += follow._RENEW_SECONDS - 1
    assert not batch.is_due(0, is_quiet=True)
    clock.now += 1
    assert batch.is_due(0, is_quiet=True)
    assert batch.lsn == 7
    batch.note(Begin(8, 0, 0))
    assert not batch.is_due(0, is_quiet=True), "never inside a transaction"


def test_position_without_changes_is_committed_after_a_pause(clock: Clock) -> None:
    batch = _Batch(7)
    batch.note(KeepAlive(9))
    assert not batch.is_due(0, is_quiet=True)
    clock.now += follow._KEEP_SECONDS + 1
    assert batch.is_due(0, is_quiet=True)
    assert batch.lsn == 9


def test_changes_are_committed_once_it_is_quiet(clock: Clock) -> None:
    batch = _Batch(7)
    batch.note(Begin(8, 0, 0))
    assert not batch.is_due(1, is_quiet=True)
    batch.note(Commit(9))
    assert not batch.is_due(1, is_quiet=False)
    assert batch.is_due(1, is_quiet=True)
    clock.now += follow._BATCH_SECONDS + 1
    assert batch.is_due(1, is_quiet=False)


@pytest.mark.parametrize("has_records", [False, True])
@pytest.mark.parametrize("is_asked", [False, True])
def test_slot_without_position_is_dropped_only_for_a_first_or_asked_snapshot(
    monkeypatch: pytest.MonkeyPatch, has_records: bool, is_asked: bool
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(Capture, "_send_snapshot", lambda _, *given: sent.append(given))
    database, topic = create_autospec(Database, instance=True), create_autospec(ChangeTopic, instance=True)
    database.name, database.source = "shop", SOURCE
    database.slot.return_value = Slot(None, is_lost=False, confirmed=0)
    topic.position.return_value = None
    topic.latest_lsn_of.side_effect = {"shop": 100 if has_records else None}.get
    replication = create_autospec(Replication, instance=True)
    replication.create_slot.return_value = CreatedSlot(5, "snapshot")
    capture = Capture(database, topic, is_asked)
    connection = create_autospec(psycopg.Connection, instance=True)
    if has_records and not is_asked:
        with pytest.raises(MillraceError, match=r"no position of .* shop .*capture shop --snapshot`"):
            capture._position(connection, replication, "system", 9)
    else:
        position = capture._position(connection, replication, "system", 9)
        assert (position.lsn, position.base) == (5, 97 if has_records else 0)
    is_done = not has_records or is_asked
    assert [bool(sent), database.drop_slot.called] == [is_done] * 2


@pytest.mark.parametrize(
    ("system", "log_end", "slot", "error", "base"),
    [
        ("a", 1000, Slot(None, is_lost=False, confirmed=800), None, 7),
        ("b", 50, None, "another server", 769),
        ("a", 1000, None, "is gone", 769),
        ("a", 799, Slot(None, is_lost=False, confirmed=700), "restored to a time before", 769),
        ("a", 1000, Slot(None, is_lost=False, confirmed=801), "Kafka has lost the last changes", 769),
    ],
)
def test_snapshot_is_after_all_changes_that_were_sent(
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    log_end: int,
    slot: Slot | None,
    error: str | None,
    base: int,
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(Capture, "_send_snapshot", lambda _, *given: sent.append(given))
    database, topic = create_autospec(Database, instance=True), create_autospec(ChangeTopic, instance=True)
    database.name, database.source, database.slot_name = "shop", SOURCE, "millrace_shop"
    database.slot.return_value = slot
    known = Position(800, "a", tuple(sorted(SOURCE.tables)), 7)
    topic.position.return_value = known
    replication = create_autospec(Replication, instance=True)
    created = CreatedSlot(900 if error is None else 40, "snapshot")
    replication.create_slot.return_value = created
    connection = create_autospec(psycopg.Connection, instance=True)
    capture = Capture(database, topic)
    if error is None:
        assert capture._position(connection, replication, system, log_end) == known
    else:
        with pytest.raises(MillraceError, match=f"{error}.*capture shop --snapshot`"):
            capture._position(connection, replication, system, log_end)
        assert not database.drop_slot.called
    capture.snapshot = True
    position = capture._position(connection, replication, system, log_end)
    assert position == (known if error is None else Position(created.lsn, system, known.tables, base))
    assert created.lsn - 1 + position.base > known.lsn + known.base
    assert replication.create_slot.call_args.kwargs == {"temporary": error is None}
    assert database.drop_slot.called is (error is not None and slot is not None)
