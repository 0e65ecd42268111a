"""Databases in which consumers keep their positions."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from kit.postgres import running_postgres
from kit.user_database import UserDatabase, postgres_database, sqlite_database


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A Postgres server for all tests."""
    with running_postgres() as dsn:
        yield dsn


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> UserDatabase:
    """A separate database for one test, in SQLite or Postgres."""
    if request.param == "sqlite":
        return sqlite_database(tmp_path / "user.db")
    return _new_postgres_database(request.getfixturevalue("postgres"))


@pytest.fixture
def in_postgres(postgres: str) -> UserDatabase:
    """A separate Postgres database for one test."""
    return _new_postgres_database(postgres)


def _new_postgres_database(dsn: str) -> UserDatabase:
    """Create a schema, since a database would take 8 MB."""
    name = f"test_{uuid4().hex}"
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return postgres_database(f"{dsn} options='-c search_path={name}'")


@pytest.fixture
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reconnect without backing off."""
    monkeypatch.setattr("millrace.client.event_stream._LONGEST_PAUSE", 0.0)
