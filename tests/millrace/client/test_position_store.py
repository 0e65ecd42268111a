import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from kit.polling import eventually
from kit.user_database import UserDatabase
from lakehouse.errors import MillraceError
from millrace.client import Cursor
from millrace.client.position_store import FencedError, StoredPosition

STREAM = {"table": "gold.funnel"}
START = StoredPosition(None, None, 0)
MOVED = StoredPosition("p1", ("day",), 1)
LEASE_SECONDS = 60.0


@pytest.fixture
def connection(database: UserDatabase) -> Any:
    with closing(database.store.connect(LEASE_SECONDS)) as connection:
        database.store.prepare(connection, "sums", STREAM)
        database.run("CREATE TABLE effects (number INTEGER)")
        yield connection


def _move(
    database: UserDatabase, connection: Any, leader: str, previous: StoredPosition, number: int
) -> None:
    moved = replace(previous, position=f"p{previous.applied + 1}", key=("day",), applied=previous.applied + 1)
    with database.store.moving(connection, "sums", leader, previous, moved, LEASE_SECONDS) as cursor:
        cursor.execute(database.sql("INSERT INTO effects VALUES (?)"), (number,))


def _insert_and_fail(database: UserDatabase, cursor: Cursor) -> None:
    cursor.execute(database.sql("INSERT INTO effects VALUES (?)"), (1,))
    cursor.execute("SELECT * FROM no_such_table")


def _effects(database: UserDatabase) -> list[int]:
    return [number for (number,) in database.run("SELECT number FROM effects ORDER BY number")]


def test_position_and_effects_are_committed_together(database: UserDatabase, connection: Any) -> None:
    assert database.store.lead(connection, "sums", "a", LEASE_SECONDS) == START
    _move(database, connection, "a", START, 1)
    assert database.store.lead(connection, "sums", "a", LEASE_SECONDS) == MOVED
    assert _effects(database) == [1]


def test_exception_rolls_back_position_and_effects(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", LEASE_SECONDS)
    with (
        pytest.raises(Exception, match="no_such_table"),
        database.store.moving(connection, "sums", "a", START, MOVED, LEASE_SECONDS) as cursor,
    ):
        _insert_and_fail(database, cursor)
    assert database.store.lead(connection, "sums", "a", LEASE_SECONDS) == START
    assert _effects(database) == []


def test_standby_cannot_lead_during_the_lease(database: UserDatabase, connection: Any) -> None:
    assert database.store.lead(connection, "sums", "a", LEASE_SECONDS)
    assert database.store.lead(connection, "sums", "b", LEASE_SECONDS) is None
    assert database.store.renew(connection, "sums", "a", LEASE_SECONDS)
    assert not database.store.renew(connection, "sums", "b", LEASE_SECONDS)


def test_standby_leads_after_the_lease_expires(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", 2)
    assert database.store.lead(connection, "sums", "b", LEASE_SECONDS) is None
    assert eventually(lambda: database.store.lead(connection, "sums", "b", LEASE_SECONDS))
    assert not database.store.renew(connection, "sums", "a", LEASE_SECONDS)


def test_standby_leads_after_a_release(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", LEASE_SECONDS)
    database.store.release(connection, "sums", "b")  # not its own
    assert database.store.lead(connection, "sums", "b", LEASE_SECONDS) is None
    database.store.release(connection, "sums", "a")
    assert database.store.lead(connection, "sums", "b", LEASE_SECONDS)


def test_former_leader_is_fenced(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", -1)  # has ended
    database.store.lead(connection, "sums", "b", LEASE_SECONDS)
    with pytest.raises(FencedError):  # the stand-by leads, and has not applied anything yet
        _move(database, connection, "a", START, 1)
    _move(database, connection, "b", START, 2)
    with pytest.raises(FencedError):
        _move(database, connection, "a", START, 1)
    assert _effects(database) == [2]


def test_leader_cannot_apply_the_same_group_twice(database: UserDatabase, connection: Any) -> None:
    """As if the connection was lost before the commit was acknowledged."""
    database.store.lead(connection, "sums", "a", LEASE_SECONDS)
    _move(database, connection, "a", START, 1)
    with pytest.raises(FencedError):
        _move(database, connection, "a", START, 1)
    assert _effects(database) == [1]


def test_stale_consumer_is_fenced_at_a_recurring_position(database: UserDatabase, connection: Any) -> None:
    """A reset may lead to a position that a paused consumer still holds."""
    database.store.lead(connection, "sums", "a", LEASE_SECONDS)
    _move(database, connection, "a", START, 1)
    with database.store.moving(connection, "sums", "a", MOVED, replace(MOVED, applied=2), LEASE_SECONDS):
        pass
    assert database.run("SELECT position, applied FROM millrace_positions") == [("p1", 2)]
    with pytest.raises(FencedError):
        _move(database, connection, "a", MOVED, 2)


def test_standby_waits_for_running_transaction_of_the_leader(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", -1)
    outcome: list[object] = []

    def stand_by() -> None:
        with closing(database.store.connect(LEASE_SECONDS)) as other:
            outcome.append(database.store.lead(other, "sums", "b", LEASE_SECONDS))

    with database.store.moving(connection, "sums", "a", START, MOVED, -1) as cursor:
        thread = threading.Thread(target=stand_by)
        thread.start()
        cursor.execute(database.sql("INSERT INTO effects VALUES (?)"), (1,))
        thread.join(0.3)
        assert outcome == []
    thread.join(20)
    assert outcome == [MOVED]


def test_postgres_ends_paused_transaction_with_the_lease(in_postgres: UserDatabase) -> None:
    store = in_postgres.store
    with closing(store.connect(0.3)) as paused, closing(store.connect(LEASE_SECONDS)) as other:
        store.prepare(paused, "sums", STREAM)
        store.lead(paused, "sums", "a", -1)
        with (
            pytest.raises(psycopg.Error, match=r"idle-in-transaction|closed") as failure,
            store.moving(paused, "sums", "a", START, MOVED, LEASE_SECONDS),
        ):
            assert store.lead(other, "sums", "b", LEASE_SECONDS) == START  # waits for the row
    assert store.is_transient(failure.value)


def test_commit_by_the_handler_is_rejected(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", LEASE_SECONDS)
    with (
        pytest.raises(MillraceError, match="was ended"),
        database.store.moving(connection, "sums", "a", START, MOVED, LEASE_SECONDS) as cursor,
    ):
        cursor.execute("COMMIT")


def test_suppressed_error_in_postgres_fails_the_transaction(in_postgres: UserDatabase) -> None:
    """Its COMMIT would silently roll back."""
    store = in_postgres.store
    with closing(store.connect(LEASE_SECONDS)) as connection:
        store.prepare(connection, "sums", STREAM)
        store.lead(connection, "sums", "a", LEASE_SECONDS)
        with (
            pytest.raises(psycopg.errors.InFailedSqlTransaction),
            store.moving(connection, "sums", "a", START, MOVED, LEASE_SECONDS) as cursor,
            suppress(psycopg.Error),
        ):
            cursor.execute("SELECT * FROM no_such_table")


def test_name_cannot_be_reused_for_another_stream_until_forgotten(
    database: UserDatabase, connection: Any
) -> None:
    database.store.lead(connection, "sums", "a", LEASE_SECONDS)
    _move(database, connection, "a", START, 1)
    other = {**STREAM, "where": {"step": ["visit"]}}
    with pytest.raises(MillraceError, match="restart"):
        database.store.prepare(connection, "sums", other)
    database.store.forget(connection, "sums", other)
    database.store.prepare(connection, "sums", other)
    assert database.store.lead(connection, "sums", "a", LEASE_SECONDS) == StoredPosition(None, None, 2)


def test_concurrent_preparation_creates_one_position(database: UserDatabase) -> None:

    def prepare(_: int) -> None:
        with closing(database.store.connect(LEASE_SECONDS)) as connection:
            database.store.prepare(connection, "sums", STREAM)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(prepare, range(8))) == [None] * 8
    assert database.run("SELECT name, applied FROM millrace_positions") == [("sums", 0)]


def test_sql_error_of_the_user_is_not_transient(database: UserDatabase, connection: Any) -> None:
    with pytest.raises(Exception, match="no_such_table") as failure:
        database.run("SELECT * FROM no_such_table")
    assert not database.store.is_transient(failure.value)
