"""Two consumers, one leads; consumers and servers are killed and paused, 200 times for each database."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kit.consumer_kills import disturb
from kit.postgres import running_postgres
from kit.user_database import UserDatabase, postgres_database, sqlite_database

KILLS = 200


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[UserDatabase]:
    if request.param == "sqlite":
        yield sqlite_database(tmp_path / "user.db")
        return
    with running_postgres() as dsn:
        yield postgres_database(dsn)


def test_each_change_has_its_effect_once(database: UserDatabase, tmp_path: Path) -> None:
    changes_of_leader = disturb(database, tmp_path, KILLS, Random(41), pause=(0.1, 0.9), every=0.5)
    assert changes_of_leader >= KILLS // 10
