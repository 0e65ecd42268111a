"""How fast do changes of the shop's PostgreSQL reach Kafka and silver, and what does a reload cost?

Capture alone first, then `millrace up` with one change at a time, beside `SELECT *` of the whole table.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import polars as pl
import psutil
import psycopg
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from benchmarks.bench import print_table, progress
from millrace.local.postgres_server import connection_string, running_postgres
from millrace.local.process.ports import free_port, stable_port

_TABLES = {
    "customers": "id bigint PRIMARY KEY, plan text, country text, note text",
    "products": "id text PRIMARY KEY, name text, category text, price numeric, cost numeric, currency text",
    "campaigns": "name text PRIMARY KEY, objective text, budget numeric, currency text",
    "orders": "id text PRIMARY KEY, customer_id text, status text, value numeric, currency text",
}
_SECONDS = 300.0


@contextmanager
def millrace(env: dict[str, str], *arguments: str) -> Iterator[psutil.Process]:
    """A command of Millrace during the block."""
    command = [sys.executable, "-m", "millrace", *arguments]
    process = psutil.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def wait_until(reached: Callable[[], bool], what: str) -> float:
    """Seconds until a condition holds."""
    began = time.monotonic()
    while not reached():
        if time.monotonic() - began > _SECONDS:
            raise SystemExit(f"{what}: not within {_SECONDS:.0f} s")
        time.sleep(0.01)
    return time.monotonic() - began


def note(found: list[list[str]], measure: str, figure: str) -> None:
    """Keep a figure, and print it: a run may be ended before its last one."""
    progress(f"{measure}: {figure}")
    found.append([measure, figure])


class Topic:
    """Counts the records of the topic of changes, with those that end transactions."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = KafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed")

    def count(self) -> int:
        """The sum of its end offsets."""
        places = [TopicPartition("shop_changes", number) for number in (0, 1)]
        return sum(self._consumer.end_offsets(places).values())


def capture_alone(dsn: str, env: dict[str, str], rows: int) -> list[list[str]]:
    """Time and memory of capture without Spark."""
    found = []
    with millrace(env, "up", "--broker", "--foreground"), psycopg.connect(dsn, autocommit=True) as connection:
        bootstrap = f"127.0.0.1:{env['MILLRACE_BROKER_PORT']}"
        wait_until(lambda: _answers(bootstrap), "Kafka")
        with millrace(env, "capture", "shop") as process:
            began = time.monotonic()
            wait_until(lambda: _answers(bootstrap, "shop_changes"), "the topic")
            topic, peak = Topic(bootstrap), [0]

            def reached(records: int) -> bool:
                peak[0] = max(peak[0], process.memory_info().rss)
                return topic.count() >= records

            wait_until(lambda: reached(rows), "snapshot")
            note(found, f"snapshot of {rows:,} rows (s, with the start)", f"{time.monotonic() - began:.1f}")
            before = topic.count()
            connection.execute("UPDATE customers SET plan = 'pro'")
            took = wait_until(lambda: reached(before + rows), "update")
            note(found, f"update of {rows:,} rows in one transaction (s)", f"{took:.1f}")
            note(found, "changes a second to Kafka", f"{rows / took:,.0f}")
            lags = []
            for number in range(50):
                wanted = topic.count() + 1
                connection.execute("UPDATE customers SET plan = %s WHERE id = %s", (f"p{number}", number + 1))
                lags.append(wait_until(partial(reached, wanted), "change"))
            note(found, "one change to Kafka (s): median, 95 %", _quantiles(lags))
            note(found, "memory of capture at most (MB)", f"{peak[0] / 1e6:.0f}")
    return found


def to_silver(dsn: str, env: dict[str, str], rows: int, changes: int, lags_wanted: int) -> list[list[str]]:
    """Time from PostgreSQL to silver.customers with all jobs running."""
    home, found = Path(env["MILLRACE_HOME"]), []
    with millrace(env, "up", "--foreground"), psycopg.connect(dsn, autocommit=True) as connection:
        took = wait_until(lambda: _versions(home, "plan IS NOT NULL") >= rows, "silver has the snapshot")
        note(found, f"snapshot of {rows:,} rows to silver (s, with the start)", f"{took:.1f}")
        connection.execute("UPDATE customers SET plan = 'bulk' WHERE id <= %s", (changes,))
        took = wait_until(lambda: _versions(home, "plan = 'bulk'") >= changes, "silver has the update")
        note(found, f"update of {changes:,} rows to silver (s)", f"{took:.1f}")
        note(found, "changes a second to silver", f"{changes / took:,.0f}")
        began = time.monotonic()
        table = pl.read_database("SELECT * FROM customers", connection)
        table.write_delta(home / "reload", mode="overwrite")
        note(found, f"SELECT * of {rows:,} rows, written to a table (s)", f"{time.monotonic() - began:.1f}")
        lags = []
        for number in range(lags_wanted):
            plan = f"lag-{number}"
            connection.execute("UPDATE customers SET plan = %s WHERE id = %s", (plan, number + 1))
            lags.append(wait_until(partial(_has_plan, home, plan), "silver has the change"))
        note(found, "one change to silver (s): median, 95 %", _quantiles(lags))
    return found


def _versions(home: Path, condition: str) -> int:
    with suppress(DeltaError, FileNotFoundError, OSError):
        table = DeltaTable(home / "warehouse" / "silver" / "customers")
        frame = pl.scan_delta(table).filter(pl.sql_expr(condition))
        return int(frame.select(pl.len()).collect().item())
    return 0


def _has_plan(home: Path, plan: str) -> bool:
    return _versions(home, f"plan = '{plan}'") > 0


def _answers(bootstrap: str, topic: str | None = None) -> bool:
    try:
        consumer = KafkaConsumer(bootstrap_servers=bootstrap, bootstrap_timeout_ms=1000)
    except Exception:  # noqa: BLE001 - not yet
        return False
    try:
        return topic is None or topic in consumer.topics()
    finally:
        consumer.close()


def _quantiles(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    return f"{ordered[len(ordered) // 2]:.2f}, {ordered[int(len(ordered) * 0.95)]:.2f}"


def _create(dsn: str, rows: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name, columns in _TABLES.items():
            connection.execute(f"CREATE TABLE {name} ({columns})".encode())
        connection.execute(
            "INSERT INTO customers SELECT number, 'free', 'DE', repeat('x', 50) "
            "FROM generate_series(1, %s) AS number",
            (rows,),
        )


def main() -> None:
    """Run both parts, each with a new home and a new database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--changes", type=int, default=20_000)
    parser.add_argument("--lags", type=int, default=20, help="single changes to silver")
    parser.add_argument("--only", choices=["capture", "silver"])
    given = parser.parse_args()
    rows = []
    for part in [given.only] if given.only else ["capture", "silver"]:
        port = stable_port()
        dsn = connection_string(port)
        with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
            env = {
                **os.environ,
                "MILLRACE_HOME": folder,
                "MILLRACE_BROKER_PORT": str(free_port()),
                "MILLRACE_DASHBOARD_PORT": str(free_port()),
                "MILLRACE_SHOP_DATABASE": dsn,
            }
            with running_postgres(Path(folder), port):
                _create(dsn, given.rows)
                progress(part)
                if part == "capture":
                    rows += capture_alone(dsn, env, given.rows)
                else:
                    rows += to_silver(dsn, env, given.rows, given.changes, given.lags)
    print_table("The shop's database", ["measure", "figure"], rows)


if __name__ == "__main__":
    main()
