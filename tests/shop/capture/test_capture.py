"""Capture of a real PostgreSQL to a real Kafka: what arrives is what the tables had."""

import threading
from collections.abc import Callable
from random import Random
from uuid import uuid4

import psycopg
import pytest
from kafka.admin import KafkaAdminClient

from kit.captured import captured_changes, current, histories
from kit.home import Home
from kit.postgres import running_postgres
from kit.running_capture import RunningCapture
from kit.shop_database import (
    SOURCE,
    TABLES,
    all_rows,
    as_of,
    create_shop,
    kept_states,
    micros_now,
    run_transactions,
)

PRODUCT = "INSERT INTO products (id, name, price) VALUES (%s, 'Mug', 9.5)"


@pytest.fixture
def capture(
    new_home: Callable[..., Home], new_shop: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> RunningCapture:
    monkeypatch.setenv(SOURCE.connection, new_shop())
    home = new_home()
    return RunningCapture(home.bootstrap, home.shop_topic, uuid4().hex)


def shop() -> psycopg.Connection:
    return psycopg.connect(str(SOURCE.database), autocommit=True)


def end_with(connection: psycopg.Connection, capture: RunningCapture, key: str = "end") -> None:
    """Wait until all changes so far have arrived."""
    connection.execute(PRODUCT, (key,))
    capture.wait_for("public.products", key)


def test_histories_are_those_that_triggers_keep(capture: RunningCapture) -> None:
    with shop() as connection, capture.running():
        capture.wait_for("public.products", "1")
        began = micros_now(connection)
        points = {}
        for number in run_transactions(connection, Random(5), 400):
            if number % 40 == 0:
                points[micros_now(connection)] = {table: all_rows(connection, table) for table in TABLES}
        end_with(connection, capture)
        found = histories(captured_changes(capture.bootstrap, capture.topic))
        assert {table: current(found[table]) for table in TABLES} == {
            table: all_rows(connection, table) for table in TABLES
        }
        assert {at: {table: as_of(found[table], at) for table in TABLES} for at in points} == points
        kept = kept_states(connection, began)
    for table in TABLES:
        versions = {
            key: [tuple(each.row.values()) for each in of_key if (each.valid_from or 0) >= began]
            for key, of_key in found[table].items()
        }
        assert {key: rows for key, rows in versions.items() if rows} == kept[table]


def test_capture_goes_on_where_it_stopped(capture: RunningCapture) -> None:
    with shop() as connection:
        with capture.running():
            end_with(connection, capture, "first")
        connection.execute(PRODUCT, ("between",))
        with capture.running():
            end_with(connection, capture)
    found = captured_changes(capture.bootstrap, capture.topic)
    places = [(each["table"], each["lsn"], each["sequence"]) for each in found]
    assert len(places) == len(set(places))
    assert capture.has_row("public.products", "between")


def test_dropped_slot_is_an_error_until_a_new_snapshot(capture: RunningCapture) -> None:
    with shop() as connection:
        with capture.running():
            end_with(connection, capture, "first")
        slot = f"millrace_{capture.name}"
        connection.execute("SELECT pg_drop_replication_slot(%s)", (slot,))
        connection.execute("DELETE FROM products WHERE id = 'first'")
        assert capture.failed() == (
            f"the replication slot {slot} is gone: changes may be lost. Run `millrace capture {capture.name} "
            "--snapshot`, which goes on from a new snapshot; only versions between are lost."
        )
        capture.snapshot = True
        with capture.running():
            end_with(connection, capture)
        found = histories(captured_changes(capture.bootstrap, capture.topic))
        assert current(found["public.products"]) == all_rows(connection, "public.products")


def test_lost_position_is_an_error_until_a_new_snapshot(capture: RunningCapture) -> None:
    with shop() as connection:
        with capture.running():
            end_with(connection, capture, "first")
        admin = KafkaAdminClient(bootstrap_servers=capture.bootstrap)
        admin.delete_groups([capture.group])  # as after offsets.retention.minutes
        admin.close()
        connection.execute("DELETE FROM products WHERE id = 'first'")
        for _ in range(2):
            assert capture.failed() == (
                f"Kafka has no position of the capture of {capture.name} any more: it is older than Kafka's "
                f"offsets.retention.minutes. Run `millrace capture {capture.name} --snapshot`, which goes on "
                "from a new snapshot; only versions between are lost."
            )
        capture.snapshot = True
        with capture.running():
            end_with(connection, capture)
        found = histories(captured_changes(capture.bootstrap, capture.topic))
        assert current(found["public.products"]) == all_rows(connection, "public.products")


def test_server_that_begins_with_lower_positions_goes_on_from_a_new_snapshot(
    capture: RunningCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop() as connection:
        connection.execute("SELECT pg_logical_emit_message(false, 'test', repeat('x', 50000000))")
        with capture.running():
            end_with(connection, capture, "only before")
    with running_postgres(wal_level="logical") as other:
        monkeypatch.setenv(SOURCE.connection, other)
        create_shop(other)
        assert "is another server than the one captured before" in capture.failed()
        capture.snapshot = True
        with shop() as connection, capture.running():
            end_with(connection, capture, "snapshot")
            connection.execute("UPDATE products SET price = 77")
            end_with(connection, capture)
            found = histories(captured_changes(capture.bootstrap, capture.topic))
            assert current(found["public.products"]) == all_rows(connection, "public.products")


def test_interrupted_first_snapshot_begins_again(capture: RunningCapture) -> None:
    with shop() as connection:
        other = RunningCapture(capture.bootstrap, capture.topic, uuid4().hex)
        with other.running():
            end_with(connection, other, "of another source")
        stop = threading.Event()
        stop.set()
        capture.run(stop)
        assert [str(each)[:24] for each in capture.errors] == ["the snapshot was stopped"]
        capture.errors.clear()
        with capture.running():
            end_with(connection, capture)


def test_renamed_column_is_an_error_that_names_it(capture: RunningCapture) -> None:
    with shop() as connection:
        with capture.running():
            end_with(connection, capture, "first")
        connection.execute("ALTER TABLE customers RENAME plan TO tier")
        said = capture.failed()
    assert said.startswith("public.customers has no column plan, which conf/shop.yml names as column plan. ")


def test_added_column_is_in_later_rows(capture: RunningCapture) -> None:
    with shop() as connection, capture.running():
        end_with(connection, capture, "first")
        connection.execute("ALTER TABLE products ADD weight int DEFAULT 3")
        end_with(connection, capture)
        found = captured_changes(capture.bootstrap, capture.topic)
    [row] = [each["row"] for each in found if each["key"] == {"id": "end"}]
    assert row["weight"] == "3"


def test_server_that_does_not_answer_is_one_line(
    capture: RunningCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SOURCE.connection, "host=127.0.0.1 port=1 user=test dbname=postgres")
    said = capture.failed()
    assert said.startswith(f"PostgreSQL of {capture.name} does not answer: ")
    assert said.endswith("Start it, or correct host, port and database in SHOP_DSN.")
    assert "\n" not in said


def test_missing_table_is_named(capture: RunningCapture) -> None:
    with shop() as connection:
        connection.execute("DROP TABLE products")
    assert capture.failed() == (
        f"PostgreSQL of {capture.name} has no table public.products. Correct its name in conf/shop.yml."
    )


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["ALTER TABLE products DROP CONSTRAINT products_pkey"], "replica identity of products is missing"),
        (["ALTER TABLE products REPLICA IDENTITY NOTHING"], "replica identity of products is missing"),
        (
            [
                "ALTER TABLE campaigns ADD number bigserial, DROP CONSTRAINT campaigns_pkey",
                "ALTER TABLE campaigns REPLICA IDENTITY DEFAULT, ADD PRIMARY KEY (number)",
            ],
            "replica identity of campaigns is number, and its key in conf/shop.yml is name",
        ),
    ],
)
def test_table_whose_deletes_would_not_be_named_is_not_published(
    capture: RunningCapture, statements: list[str], said: str
) -> None:
    with shop() as connection:
        for statement in statements:
            connection.execute(statement.encode())
        assert said in capture.failed()
        assert connection.execute("SELECT count(*) FROM pg_publication").fetchone() == (0,)
        connection.execute("UPDATE products SET price = 1")


def test_changes_of_a_partitioned_table_are_those_of_the_table(capture: RunningCapture) -> None:
    with shop() as connection:
        connection.execute(
            "DROP TABLE products; CREATE TABLE products (id text PRIMARY KEY, name text, category text, "
            "price numeric, cost numeric, currency text) PARTITION BY HASH (id); "
            "CREATE TABLE even PARTITION OF products FOR VALUES WITH (MODULUS 2, REMAINDER 0); "
            "CREATE TABLE odd PARTITION OF products FOR VALUES WITH (MODULUS 2, REMAINDER 1)"
        )
        for number in range(9):
            connection.execute(PRODUCT, (str(number),))
        with capture.running():
            capture.wait_for("public.products", "8")
            connection.execute("UPDATE products SET price = 12 WHERE id < '5'")
            connection.execute("DELETE FROM products WHERE id > '6'")
            end_with(connection, capture)
        found = histories(captured_changes(capture.bootstrap, capture.topic))
        assert current(found["public.products"]) == all_rows(connection, "public.products")


def test_texts_of_a_database_in_another_encoding_arrive(
    capture: RunningCapture, logical_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"shop_{uuid4().hex}"
    with psycopg.connect(logical_postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0".encode())
    dsn = logical_postgres.replace("dbname=postgres", f"dbname={name}")
    create_shop(dsn)
    monkeypatch.setenv(SOURCE.connection, dsn)
    with shop() as connection, capture.running():
        end_with(connection, capture)
        found = histories(captured_changes(capture.bootstrap, capture.topic))
        assert current(found["public.products"]) == all_rows(connection, "public.products")
