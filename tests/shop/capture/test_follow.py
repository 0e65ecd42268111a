"""When capture commits, and when it takes a snapshot. Needs no PostgreSQL and no Kafka."""

from typing import Any
from unittest.mock import create_autospec

import psycopg
import pytest

from kit.shop_database import SOURCE
from lakehouse.errors import MillraceError
from shop.capture import follow
from shop.capture.change_topic import ChangeTopic
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
    database.slot.return_value = Slot(None, is_lost=False)
    topic.position.return_value = None
    topic.has_records_of.side_effect = lambda source: has_records and source == "shop"
    replication = create_autospec(Replication, instance=True)
    replication.create_slot.return_value = CreatedSlot(5, "snapshot")
    capture = Capture(database, topic, is_asked)
    connection = create_autospec(psycopg.Connection, instance=True)
    if has_records and not is_asked:
        with pytest.raises(MillraceError, match=r"no position of .* shop .*capture shop --snapshot`"):
            capture._position(connection, replication, "system")
    else:
        assert capture._position(connection, replication, "system").lsn == 5
    is_done = not has_records or is_asked
    assert [bool(sent), database.drop_slot.called] == [is_done] * 2
