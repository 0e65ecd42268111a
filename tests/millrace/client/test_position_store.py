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
LONG = 60.0


@pytest.fixture
def connection(database: UserDatabase) -> Any:
    with closing(database.store.connect(LONG)) as connection:
        database.store.prepare(connection, "sums", STREAM)
        database.run("CREATE TABLE effects (number INTEGER)")
        yield connection


def _move(database: UserDatabase, connection: Any, leader: str, had: StoredPosition, number: int) -> None:
    moved = replace(had, position=f"p{had.applied + 1}", key=("day",), applied=had.applied + 1)
    with database.store.moving(connection, "sums", leader, had, moved, LONG) as cursor:
        cursor.execute(database.sql("INSERT INTO effects VALUES (?)"), (number,))


def _insert_and_fail(database: UserDatabase, cursor: Cursor) -> None:
    cursor.execute(database.sql("INSERT INTO effects VALUES (?)"), (1,))
    cursor.execute("SELECT * FROM no_such_table")


def _effects(database: UserDatabase) -> list[int]:
    return [number for (number,) in database.run("SELECT number FROM effects ORDER BY number")]


def test_position_and_effects_are_kept_together(database: UserDatabase, connection: Any) -> None:
    assert database.store.lead(connection, "sums", "a", LONG) == START
    _move(database, connection, "a", START, 1)
    assert database.store.lead(connection, "sums", "a", LONG) == MOVED
    assert _effects(database) == [1]


def test_an_exception_leaves_neither(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", LONG)
    with (
        pytest.raises(Exception, match="no_such_table"),
        database.store.moving(connection, "sums", "a", START, MOVED, LONG) as cursor,
    ):
        _insert_and_fail(database, cursor)
    assert database.store.lead(connection, "sums", "a", LONG) == START
    assert _effects(database) == []


def test_a_stand_by_waits_for_the_lease(database: UserDatabase, connection: Any) -> None:
    assert database.store.lead(connection, "sums", "a", LONG)
    assert database.store.lead(connection, "sums", "b", LONG) is None
    assert database.store.renew(connection, "sums", "a", LONG)
    assert not database.store.renew(connection, "sums", "b", LONG)


def test_a_stand_by_leads_after_the_lease(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", 2)
    assert database.store.lead(connection, "sums", "b", LONG) is None
    assert eventually(lambda: database.store.lead(connection, "sums", "b", LONG))
    assert not database.store.renew(connection, "sums", "a", LONG)


def test_a_stand_by_leads_after_a_release(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", LONG)
    database.store.release(connection, "sums", "b")  # not its own
    assert database.store.lead(connection, "sums", "b", LONG) is None
    database.store.release(connection, "sums", "a")
    assert database.store.lead(connection, "sums", "b", LONG)


def test_a_leader_of_before_cannot_apply(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", -1)  # has ended
    database.store.lead(connection, "sums", "b", LONG)
    with pytest.raises(FencedError):  # the stand-by leads, and has not applied anything yet
        _move(database, connection, "a", START, 1)
    _move(database, connection, "b", START, 2)
    with pytest.raises(FencedError):
        _move(database, connection, "a", START, 1)
    assert _effects(database) == [2]


def test_a_leader_cannot_apply_the_same_group_twice(database: UserDatabase, connection: Any) -> None:
    """As if its connection was lost after a commit that it did not hear of."""
    database.store.lead(connection, "sums", "a", LONG)
    _move(database, connection, "a", START, 1)
    with pytest.raises(FencedError):
        _move(database, connection, "a", START, 1)
    assert _effects(database) == [1]


def test_a_position_that_comes_again_is_not_the_same(database: UserDatabase, connection: Any) -> None:
    """A reset may lead to a position that a paused consumer still has in mind."""
    database.store.lead(connection, "sums", "a", LONG)
    _move(database, connection, "a", START, 1)
    with database.store.moving(connection, "sums", "a", MOVED, replace(MOVED, applied=2), LONG):
        pass
    assert database.run("SELECT position, applied FROM millrace_positions") == [("p1", 2)]
    with pytest.raises(FencedError):
        _move(database, connection, "a", MOVED, 2)


def test_a_leader_waits_for_the_transaction_of_another(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", -1)
    outcome: list[object] = []

    def stand_by() -> None:
        with closing(database.store.connect(LONG)) as other:
            outcome.append(database.store.lead(other, "sums", "b", LONG))

    with database.store.moving(connection, "sums", "a", START, MOVED, -1) as cursor:
        thread = threading.Thread(target=stand_by)
        thread.start()
        cursor.execute(database.sql("INSERT INTO effects VALUES (?)"), (1,))
        thread.join(0.3)
        assert outcome == []
    thread.join(20)
    assert outcome == [MOVED]


def test_a_paused_transaction_ends_with_the_lease_in_postgres(in_postgres: UserDatabase) -> None:
    store = in_postgres.store
    with closing(store.connect(0.3)) as paused, closing(store.connect(LONG)) as other:
        store.prepare(paused, "sums", STREAM)
        store.lead(paused, "sums", "a", -1)
        with (
            pytest.raises(psycopg.Error, match=r"idle-in-transaction|closed") as failure,
            store.moving(paused, "sums", "a", START, MOVED, LONG),
        ):
            assert store.lead(other, "sums", "b", LONG) == START  # waits for the row
    assert store.is_transient(failure.value)


def test_a_transaction_that_was_ended_is_an_error(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", LONG)
    with (
        pytest.raises(MillraceError, match="was ended"),
        database.store.moving(connection, "sums", "a", START, MOVED, LONG) as cursor,
    ):
        cursor.execute("COMMIT")


def test_an_error_that_was_caught_in_postgres_is_an_error(in_postgres: UserDatabase) -> None:
    """Its COMMIT would be a rollback without a word."""
    store = in_postgres.store
    with closing(store.connect(LONG)) as connection:
        store.prepare(connection, "sums", STREAM)
        store.lead(connection, "sums", "a", LONG)
        with (
            pytest.raises(psycopg.errors.InFailedSqlTransaction),
            store.moving(connection, "sums", "a", START, MOVED, LONG) as cursor,
            suppress(psycopg.Error),
        ):
            cursor.execute("SELECT * FROM no_such_table")


def test_a_name_belongs_to_one_stream(database: UserDatabase, connection: Any) -> None:
    database.store.lead(connection, "sums", "a", LONG)
    _move(database, connection, "a", START, 1)
    other = {**STREAM, "where": {"step": ["visit"]}}
    with pytest.raises(MillraceError, match="restart"):
        database.store.prepare(connection, "sums", other)
    database.store.forget(connection, "sums", other)
    database.store.prepare(connection, "sums", other)
    assert database.store.lead(connection, "sums", "a", LONG) == StoredPosition(None, None, 2)


def test_the_table_is_made_by_several_at_once(database: UserDatabase) -> None:

    def prepare(_: int) -> None:
        with closing(database.store.connect(LONG)) as connection:
            database.store.prepare(connection, "sums", STREAM)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(prepare, range(8))) == [None] * 8
    assert database.run("SELECT name, applied FROM millrace_positions") == [("sums", 0)]


def test_an_error_of_the_user_is_not_transient(database: UserDatabase, connection: Any) -> None:
    with pytest.raises(Exception, match="no_such_table") as failure:
        database.run("SELECT * FROM no_such_table")
    assert not database.store.is_transient(failure.value)
