"""Two consumers for each database, one leads; they are killed and paused 200 times, and servers with them."""

from pathlib import Path
from random import Random

from kit.consumer_kills import disturb
from kit.postgres import running_postgres
from kit.user_database import postgres_database, sqlite_database

KILLS = 200


def test_each_change_has_its_effect_once(tmp_path: Path) -> None:
    with running_postgres() as dsn:
        databases = [sqlite_database(tmp_path / "user.db"), postgres_database(dsn)]
        fail_overs = disturb(databases, tmp_path, KILLS, Random(41), every=0.5)
    assert min(fail_overs) >= KILLS // 4
