"""Random transactions while capture, broker and PostgreSQL are killed again and again."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psycopg

from folds.shop.row_history import Values
from kit.captured import CaptureProcess, apply_changes, capture_process, histories
from kit.killed_broker import KilledBroker, killed_broker
from kit.polling import eventually
from kit.postgres import PostgresServer, postgres_server
from kit.shop_database import TABLES, all_rows, as_of, create_shop, kept_states, micros_now, run_transactions
from kit.topic_reader import TopicReader

_TOPIC = "shop_changes"
_SECONDS = 120.0
Rows = dict[str, dict[str, tuple[str | None, ...]]]


@dataclass
class KilledShop:
    """A shop whose parts are killed.

    Args:
        postgres: its database.
        broker: Kafka.
        capture: `millrace capture`.
        random: what happens.
        points: by time, all rows of all tables.
    """

    postgres: PostgresServer
    broker: KilledBroker
    capture: CaptureProcess
    random: Random
    points: dict[int, Rows] = field(default_factory=dict)
    began: int = 0

    def __post_init__(self) -> None:
        self._now: dict[str, dict[str, Values]] = {}
        self._applied = 0
        self.reader = TopicReader(self.broker.bootstrap, _TOPIC)

    def connect(self) -> psycopg.Connection[Any]:
        """A connection to the database."""
        return psycopg.connect(self.postgres.dsn, autocommit=True)

    def run(self, transactions: int, kills: int, points: int) -> None:
        """Run transactions, kill each part so often, and compare at so many quiet points."""
        steps: list[Callable[[], None]] = [self.compare] * points
        steps += kills * [self.capture.kill, self._restart_broker, self._restart_postgres]
        self.random.shuffle(steps)
        for step in steps:
            self._transactions(transactions // len(steps))
            step()
        self.compare()

    def compare(self) -> None:
        """Wait until all changes have arrived, and compare current rows with the tables."""
        with self.connect() as connection:
            marker = f"marker-{micros_now(connection)}"
            connection.execute("INSERT INTO products (id) VALUES (%s)", (marker,))
            self.wait_for(marker)
            rows = {table: all_rows(connection, table) for table in TABLES}
            assert self._current_rows() == rows
            self.points[micros_now(connection)] = rows

    def _current_rows(self) -> Rows:
        """The rows that all changes so far lead to; only new changes are applied."""
        apply_changes(self._now, self.reader.changes[self._applied :])
        self._applied = len(self.reader.changes)
        return {
            table: {key: tuple(row.values()) for key, row in self._now.get(table, {}).items()}
            for table in TABLES
        }

    def wait_for(self, key: str) -> None:
        """Wait for a row's change; capture is started again whenever it has ended."""

        def has_come() -> bool:
            self.capture.keep_running()
            return self.reader.has_row(key)

        eventually(has_come, _SECONDS, f"{key}: {self.capture.log()[-300:]}")

    def compare_history(self) -> None:
        """Compare all versions with the points, and with the states that triggers kept."""
        found = histories(self.reader.read())
        for at, rows in self.points.items():
            assert {table: as_of(found[table], at) for table in TABLES} == rows, f"as of {at}"
        with self.connect() as connection:
            kept = kept_states(connection, self.began)
        for table in TABLES:
            versions = {
                key: [tuple(each.row.values()) for each in of_key if (each.valid_from or 0) >= self.began]
                for key, of_key in found[table].items()
            }
            assert {key: rows for key, rows in versions.items() if rows} == kept[table]

    def _transactions(self, count: int) -> None:
        self.capture.keep_running()
        with self.connect() as connection:
            for _ in run_transactions(connection, self.random, count):
                pass

    def _restart_broker(self) -> None:
        self.broker.kill()
        self.broker.start()

    def _restart_postgres(self) -> None:
        with self._writing():
            self.postgres.kill()
        self.postgres.start()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Transactions go on during the block, until the server ends."""
        started = threading.Event()

        def write() -> None:
            with suppress(psycopg.Error), self.connect() as connection:
                for _ in run_transactions(connection, Random(self.random.random()), 10_000):
                    started.set()

        thread = threading.Thread(target=write)
        thread.start()
        started.wait(30)
        yield
        thread.join(30)


@contextmanager
def killed_shop(folder: Path, seed: int, rows: int = 20) -> Iterator[KilledShop]:
    """A shop with some rows; capture is not started."""
    with ExitStack() as stack:
        settings = {"wal_level": "logical", "fsync": "off"}
        postgres = stack.enter_context(postgres_server(**settings))
        broker = stack.enter_context(killed_broker(folder / "broker"))
        create_shop(postgres.dsn, rows)
        env = {
            "MILLRACE_HOME": str(folder / "home"),
            "MILLRACE_KAFKA_BOOTSTRAP": broker.bootstrap,
            "MILLRACE_SHOP_DATABASE": postgres.dsn,
        }
        capture = stack.enter_context(capture_process(folder / "home", env))
        yield KilledShop(postgres, broker, capture, Random(seed))
