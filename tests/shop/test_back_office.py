"""The sample shop's database: customers and orders follow from its events."""

import json
from random import Random
from typing import Any

import psycopg

from millrace.sample_shop.back_office import change_prices, create_tables, take_events


def event(**more: Any) -> bytes:
    return json.dumps({"type": "track", **more}).encode()


ORDER = event(
    event="Order Completed",
    userId="u1",
    properties={"order_id": "o1", "total": "12.30", "currency": "EUR"},
)


def test_customers_and_orders_follow_from_events(logical_postgres: str) -> None:
    with psycopg.connect(logical_postgres, autocommit=True) as server:
        server.execute("CREATE DATABASE office")
    with psycopg.connect(
        logical_postgres.replace("dbname=postgres", "dbname=office"), autocommit=True
    ) as connection:
        create_tables(connection)
        create_tables(connection)
        broken = [
            None,
            b"",
            b"{",
            b"[]",
            event(properties="x"),
            event(userId=7),
            event(event="Order Completed"),
        ]
        take_events(connection, [*broken, event(userId="u1"), ORDER, ORDER])
        assert connection.execute("SELECT id, plan FROM customers").fetchall() == [("u1", "free")]
        orders = connection.execute("SELECT id, customer_id, value::text FROM orders").fetchall()
        assert orders == [("o1", "u1", "12.30")]
        before = connection.execute("SELECT sum(price) FROM products").fetchone()
        change_prices(connection, Random(1))
        assert connection.execute("SELECT sum(price) FROM products").fetchone() != before
