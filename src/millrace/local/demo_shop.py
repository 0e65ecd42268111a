"""The sample shop's PostgreSQL in `millrace demo`: customers and orders follow from its events."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from random import Random
from time import monotonic

import psycopg
from kafka import KafkaConsumer
from kafka.structs import TopicPartition

from bronze.kafka_auth import client_options
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings, load_settings
from millrace.clients.topic import ensure_topic
from millrace.local.postgres_server import connection_string, programs, running_postgres
from millrace.local.process.child_process import Child, Program
from millrace.local.process.ports import stable_port
from millrace.local.services import Service, environment, last_error_line
from millrace.sample_shop.back_office import change_prices, create_tables, take_events
from shop.shop_file import load_shop_rules

SHOP = "shop"
_PRICES_SECONDS = 20.0
_POLL_MS = 1000


def shop_service(settings: Settings, port: int, needs: tuple[str, ...]) -> Service:
    """The shop's database, and the back office that writes it."""
    command = (sys.executable, "-m", "millrace.local.demo_shop", str(port))
    program = Program(SHOP, command, settings.home, env=environment(settings))

    def is_ready(_: Child) -> bool:
        try:
            with psycopg.connect(connection_string(port), connect_timeout=1) as connection:
                return connection.execute("SELECT count(*) FROM products").fetchone() != (0,)
        except psycopg.Error:
            return False

    return Service(
        SHOP,
        prepare=lambda: program,
        is_ready=is_ready,
        last_error_line=lambda: last_error_line(program),
        needs=needs,
        extra=True,
    )


def choose_port(settings: Settings) -> int:
    """A port for a database of the sample shop; 0 if there is a database already, or no PostgreSQL."""
    sources = load_shop_rules(settings.conf).sources
    if SHOP not in sources or programs() is None or any(each.database for each in sources.values()):
        return 0
    return stable_port()


def use_database(settings: Settings, port: int) -> None:
    """Make the database the source of capture, for this process and its children."""
    source = load_shop_rules(settings.conf).sources[SHOP]
    os.environ[source.connection] = connection_string(port)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the database and write what events say, until a signal."""
    [port] = sys.argv[1:] if arguments is None else arguments
    settings, stop = load_settings(), threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    try:
        with (
            running_postgres(settings.home, int(port)),
            psycopg.connect(connection_string(int(port)), autocommit=True) as connection,
        ):
            create_tables(connection)
            _follow(settings, connection, stop)
    except MillraceError as error:
        raise SystemExit(f"ERROR {error}") from error


def _follow(settings: Settings, connection: psycopg.Connection, stop: threading.Event) -> None:
    login, rng = client_options(settings), Random()
    ensure_topic(settings.bootstrap, settings.events_topic, login)
    consumer = KafkaConsumer(bootstrap_servers=settings.bootstrap, auto_offset_reset="earliest", **login)
    numbers = consumer.partitions_for_topic(settings.events_topic) or ()
    consumer.assign([TopicPartition(settings.events_topic, number) for number in numbers])
    next_change = monotonic() + _PRICES_SECONDS
    while not stop.is_set():
        for records in consumer.poll(timeout_ms=_POLL_MS).values():
            take_events(connection, (each.value for each in records))
        if monotonic() >= next_change:
            next_change = monotonic() + _PRICES_SECONDS
            change_prices(connection, rng)


if __name__ == "__main__":
    main()
