import logging
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from kit.polling import eventually
from kit.scripted_server import changes, heartbeat, reset, rows, scripted_server
from kit.user_database import UserDatabase
from lakehouse.errors import MillraceError
from millrace.client import Consumer, Cursor, Group, Stream

pytestmark = pytest.mark.usefixtures("without_pauses")

GROUPS = 5


def _answer(last: str | None, path: str) -> tuple[int, bytes]:
    """A snapshot of row 0, then a group with a row for each number up to 5, then a heartbeat."""
    start = reset(["number"]) + rows([{"number": 0}], "0") if last is None else b""
    later = [
        changes([(None, {"number": number})], str(number)) for number in range(int(last or 0) + 1, GROUPS + 1)
    ]
    return 200, start + b"".join(later) + heartbeat(str(GROUPS))


@pytest.fixture
def url() -> Iterator[str]:
    with scripted_server(_answer) as url:
        yield url


class NumberSink:
    """A handler that inserts numbers, and stops the consumer after the last one."""

    def __init__(self, database: UserDatabase, consumer: Consumer, last: int = GROUPS) -> None:
        self.groups: list[tuple[bool, tuple[str, ...] | None]] = []
        self._database, self._consumer, self._last = database, consumer, last
        database.run("CREATE TABLE IF NOT EXISTS effects (number INTEGER)")

    def __call__(self, cursor: Cursor, group: Group) -> None:
        self.groups.append((group.reset, group.key))
        if group.reset:
            cursor.execute("DELETE FROM effects")
        for change in group.row_changes:
            number = (change.after or {})["number"]
            cursor.execute(self._database.sql("INSERT INTO effects VALUES (?)"), (number,))
            if number == self._last:
                self._consumer.stop()


def _numbers(database: UserDatabase) -> list[int]:
    return [number for (number,) in database.run("SELECT number FROM effects ORDER BY number")]


def _consumer(database: UserDatabase, url: str, lease: float = 10.0, name: str = "numbers") -> Consumer:
    return Consumer(database.store, name, Stream(url, table="gold.funnel"), lease)


@pytest.mark.parametrize("first_stop", [0, 1, GROUPS])
def test_consumer_resumes_after_its_last_group(database: UserDatabase, url: str, first_stop: int) -> None:
    consumer = _consumer(database, url)
    consumer.run(NumberSink(database, consumer, first_stop))
    assert _numbers(database) == [*range(first_stop + 1)]
    if first_stop < GROUPS:
        again = _consumer(database, url)
        applied = NumberSink(database, again)
        again.run(applied)
        assert applied.groups == [(False, ("number",))] * (GROUPS - first_stop)  # the key is stored
    assert _numbers(database) == [*range(GROUPS + 1)]


def test_exception_rolls_back_the_group_and_releases_the_lease(database: UserDatabase, url: str) -> None:
    consumer = _consumer(database, url)
    applied = NumberSink(database, consumer)

    def failing(cursor: Cursor, group: Group) -> None:
        applied(cursor, group)
        if group.position == "3":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        consumer.run(failing)
    assert _numbers(database) == [0, 1, 2]
    consumer.run(applied)  # its lease was released
    assert _numbers(database) == [*range(GROUPS + 1)]


def test_group_without_changes_advances_the_position(database: UserDatabase) -> None:
    def answer(last: str | None, path: str) -> tuple[int, bytes]:
        return 200, heartbeat("8") if last else reset(["number"]) + rows([], "7")

    applied: list[Group] = []
    with scripted_server(answer) as url:
        consumer = _consumer(database, url)
        thread = threading.Thread(
            daemon=True, target=consumer.run, args=(lambda _, group: applied.append(group),)
        )
        thread.start()
        eventually(
            lambda: (
                applied and database.run("SELECT position, applied FROM millrace_positions") == [("8", 2)]
            ),
            what="the position",
        )
        consumer.stop()
        thread.join(20)
    assert [group.position for group in applied] == ["7"]


def test_restart_starts_with_a_reset(database: UserDatabase, url: str) -> None:
    consumer = _consumer(database, url)
    applied = NumberSink(database, consumer)
    consumer.run(applied)
    consumer.restart()
    consumer.run(applied)
    assert applied.groups.count((True, ("number",))) == 2
    assert _numbers(database) == [*range(GROUPS + 1)]


def test_consumer_name_cannot_be_reused_for_another_stream(database: UserDatabase, url: str) -> None:
    consumer = _consumer(database, url)
    consumer.run(NumberSink(database, consumer))
    other = Consumer(database.store, "numbers", Stream(url, table="gold.traffic"))
    with pytest.raises(MillraceError, match=r"gold\.funnel.*gold\.traffic.*restart"):
        other.run(NumberSink(database, other))


def test_consumers_have_a_position_per_name(database: UserDatabase, url: str) -> None:
    for name in ("one", "two"):
        consumer = _consumer(database, url, name=name)
        consumer.run(NumberSink(database, consumer))
    found = database.run("SELECT name, position, applied FROM millrace_positions ORDER BY name")
    assert found == [("one", "5", 6), ("two", "5", 6)]


def test_fenced_consumer_applies_nothing(
    database: UserDatabase, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Between two groups of the leader, another consumer takes the lease and applies all groups."""
    caplog.set_level(logging.WARNING, "millrace.client")
    slow, quick = _consumer(database, url, lease=60), _consumer(database, url, lease=60)
    applied = NumberSink(database, slow)
    database.run("CREATE TABLE IF NOT EXISTS seen (position TEXT)")

    def apply_and_signal(cursor: Cursor, group: Group) -> None:
        applied(cursor, group)
        if group.position == "2":
            after_commit.set()

    after_commit = threading.Event()
    original = slow._apply

    def apply_after_takeover(*arguments: object) -> object:
        if after_commit.is_set():
            after_commit.clear()
            database.run("UPDATE millrace_positions SET leader = NULL")
            quick.run(NumberSink(database, quick))
        return original(*arguments)  # type: ignore[arg-type]

    slow._apply = apply_after_takeover  # type: ignore[assignment, method-assign]
    thread = threading.Thread(daemon=True, target=slow.run, args=(apply_and_signal,))
    thread.start()
    eventually(lambda: "has taken over" in caplog.text, what="the leader is fenced")
    slow.stop()
    thread.join(20)
    assert _numbers(database) == [*range(GROUPS + 1)]


def test_standby_takes_over_after_lease_of_dead_leader(database: UserDatabase, url: str) -> None:
    with closing(database.store.connect(10)) as connection:
        database.store.prepare(connection, "numbers", Stream(url, table="gold.funnel").content)
        assert database.store.lead(connection, "numbers", "dead", 1.0)
    consumer = _consumer(database, url, lease=1.0)
    consumer.run(NumberSink(database, consumer))
    assert _numbers(database) == [*range(GROUPS + 1)]


def test_lease_is_renewed_while_a_group_is_applied(database: UserDatabase, url: str) -> None:
    """Applying the group takes longer than the lease, in short statements, while a standby waits."""
    consumer, stand_by = _consumer(database, url, lease=1.5), _consumer(database, url, lease=1.5)
    applied, other = NumberSink(database, consumer), NumberSink(database, stand_by)
    ended = threading.Event()

    def slowly(cursor: Cursor, group: Group) -> None:
        for _ in range(5 if group.position == "2" else 0):
            ended.wait(0.5)
            cursor.execute("SELECT 1")
            cursor.fetchall()
        applied(cursor, group)

    thread = threading.Thread(daemon=True, target=consumer.run, args=(slowly,))
    thread.start()
    eventually(lambda: applied.groups, what="the consumer leads")
    second = threading.Thread(daemon=True, target=stand_by.run, args=(other,))
    second.start()
    thread.join(20)
    stand_by.stop()
    second.join(20)
    assert len(applied.groups) == GROUPS + 1
    assert other.groups == []


def test_lease_is_renewed_while_the_stream_is_idle(database: UserDatabase, url: str) -> None:
    consumer = _consumer(database, url, lease=1.0)
    thread = threading.Thread(daemon=True, target=consumer.run, args=(lambda cursor, group: None,))
    thread.start()
    with closing(database.store.connect(60)) as other:
        database.store.prepare(other, "numbers", Stream(url, table="gold.funnel").content)
        eventually(lambda: database.run("SELECT position FROM millrace_positions") == [(str(GROUPS),)])
        thread.join(2.5)  # nothing to apply in this time
        assert database.store.lead(other, "numbers", "stand-by", 60) is None
    consumer.stop()
    thread.join(20)
    assert not thread.is_alive()
