"""Two consumers per database, one with the lease; consumers and servers are killed or paused 200 times."""

from pathlib import Path
from random import Random

from kit.catalog_server import CatalogServer
from kit.consumer_kills import disturb
from kit.postgres import running_postgres
from kit.user_database import postgres_database, sqlite_database

KILLS = 200


def test_killed_consumers_apply_each_change_once(tmp_path: Path) -> None:
    with running_postgres() as dsn:
        databases = [sqlite_database(tmp_path / "user.db"), postgres_database(dsn)]
        fail_overs = disturb(databases, tmp_path, KILLS, Random(41), every=0.5)
    assert min(fail_overs) >= KILLS // 4


def test_killed_consumers_of_a_catalog_apply_each_change_once(catalog: CatalogServer, tmp_path: Path) -> None:
    with running_postgres() as dsn:
        databases = [sqlite_database(tmp_path / "user.db"), postgres_database(dsn)]
        fail_overs = disturb(databases, tmp_path, KILLS, Random(43), every=2.0, catalog=catalog)
    assert min(fail_overs) >= KILLS // 4
