"""A real PostgreSQL with a database for each test."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import psycopg
import pytest

from kit.postgres import running_postgres
from kit.shop_database import create_shop


@pytest.fixture(scope="session")
def logical_postgres() -> Iterator[str]:
    """A server whose log can be decoded, shared by all tests. Yields its connection string."""
    settings = {"wal_level": "logical", "max_replication_slots": "20", "max_wal_senders": "20"}
    with running_postgres(**settings) as dsn:
        yield dsn


@pytest.fixture
def new_shop(logical_postgres: str) -> Callable[..., str]:
    """Creates shops; returns the connection string."""

    def make(rows: int = 20) -> str:
        name = f"shop_{uuid4().hex}"
        with psycopg.connect(logical_postgres, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        dsn = logical_postgres.replace("dbname=postgres", f"dbname={name}")
        create_shop(dsn, rows)
        return dsn

    return make
