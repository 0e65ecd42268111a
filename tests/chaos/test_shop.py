"""Capture, broker and PostgreSQL are killed: no change is lost or duplicated, and no version either.

SHOP_TRANSACTIONS, SHOP_KILLS and SHOP_POINTS set the size.
"""

import os
from pathlib import Path

import psycopg
import pytest

from kit.captured import captured_changes
from kit.polling import eventually
from kit.shop_chaos import killed_shop
from kit.shop_database import micros_now, run_transactions

pytestmark = pytest.mark.chaos

TRANSACTIONS = int(os.environ.get("SHOP_TRANSACTIONS", "2000"))
KILLS = int(os.environ.get("SHOP_KILLS", "3"))
POINTS = int(os.environ.get("SHOP_POINTS", "6"))


def test_versions_are_those_of_the_tables_whatever_is_killed(tmp_path: Path) -> None:
    with killed_shop(tmp_path, seed=1) as shop:
        shop.capture.start()
        shop.wait_for("1")
        with shop.connect() as connection:
            shop.began = micros_now(connection)
        shop.run(TRANSACTIONS, KILLS, POINTS)
        shop.compare_history()


def test_snapshot_killed_halfway_leaves_nothing_and_loses_nothing(tmp_path: Path) -> None:
    with killed_shop(tmp_path, seed=2) as shop, shop.connect() as connection:
        connection.execute(
            "INSERT INTO customers SELECT number, 'free', 'DE', repeat('x', 200) "
            "FROM generate_series(1000, 60000) number"
        )
        for _ in range(5):
            shop.capture.start()
            eventually(lambda: reads_the_table(connection), 60, "the snapshot reads customers")
            shop.capture.kill()
            assert captured_changes(shop.broker.bootstrap, "shop_changes") == []
            for _ in run_transactions(connection, shop.random, 10):
                pass
        connection.execute("INSERT INTO products (id) VALUES ('complete')")
        shop.capture.start()
        shop.wait_for("complete")
        shop.began = micros_now(connection)
        for _ in run_transactions(connection, shop.random, 200):
            pass
        shop.compare()
        shop.compare_history()
        places = [(each["lsn"], each["sequence"], each["table"]) for each in shop.reader.changes]
        assert len(places) == len(set(places))


def reads_the_table(connection: psycopg.Connection) -> bool:
    """Whether another connection is fetching rows of the snapshot's first tables."""
    found = connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH %' AND pid <> pg_backend_pid()"
    ).fetchone()
    return bool(found and found[0])
