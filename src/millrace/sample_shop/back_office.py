"""The sample shop's own database: its catalogue, and customers and orders as its events make them."""

import json
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import psycopg

from folds.records.decimals import MONEY, parse_decimal
from millrace.sample_shop.catalogue import PRODUCTS, PROMOTIONS

_SCHEMA = """
CREATE TABLE IF NOT EXISTS customers (id text PRIMARY KEY, plan text, country text);
CREATE TABLE IF NOT EXISTS products (id text PRIMARY KEY, name text, category text, price numeric(10, 2),
    cost numeric(10, 2), currency text);
CREATE TABLE IF NOT EXISTS campaigns (name text PRIMARY KEY, objective text, budget numeric(10, 2),
    currency text);
CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer_id text, status text, value numeric(12, 2),
    currency text);
"""
_COUNTRIES = ("DE", "AT", "CH", "NL", "FR")


def create_tables(connection: psycopg.Connection[Any]) -> None:
    """Create the tables with the catalogue, unless they exist."""
    connection.execute(_SCHEMA)
    products = [(p.product_id, p.name, p.category, p.price, p.price * 0.6) for p in PRODUCTS.items]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO products VALUES (%s, %s, %s, %s, %s, 'EUR') ON CONFLICT DO NOTHING", products
        )
        cursor.executemany(
            "INSERT INTO campaigns VALUES (%s, 'sales', 500, 'EUR') ON CONFLICT DO NOTHING",
            [(each.promotion_id,) for each in PROMOTIONS.items],
        )


def take_events(connection: psycopg.Connection[Any], values: Iterable[bytes | None]) -> None:
    """Write customers and orders of some messages, in one transaction."""
    with connection.transaction(), connection.cursor() as cursor:
        for value in values:
            if (event := _read(value)) is not None:
                _take(cursor, event)


def change_prices(connection: psycopg.Connection[Any], rng: Random) -> None:
    """Change the price of a product and the plan of a customer."""
    product = PRODUCTS.choose(rng)
    factor = rng.choice((0.9, 0.95, 1.05, 1.1))
    connection.execute(
        "UPDATE products SET price = round(price * %s::numeric, 2) WHERE id = %s",
        (factor, product.product_id),
    )
    connection.execute(
        "UPDATE customers SET plan = %s WHERE id = (SELECT id FROM customers ORDER BY md5(id || %s) LIMIT 1)",
        (rng.choice(("free", "plus", "pro")), str(rng.random())),
    )


def _take(cursor: psycopg.Cursor[Any], event: Mapping[str, Any]) -> None:
    user, properties = event.get("userId"), event.get("properties") or {}
    if isinstance(user, str) and user:
        country = _COUNTRIES[sum(user.encode()) % len(_COUNTRIES)]
        cursor.execute(
            "INSERT INTO customers VALUES (%s, 'free', %s) ON CONFLICT DO NOTHING", (user, country)
        )
    if event.get("event") == "Order Completed" and properties.get("order_id"):
        value = parse_decimal(str(properties.get("total")), MONEY)
        cursor.execute(
            "INSERT INTO orders (id, customer_id, status, value, currency) VALUES (%s, %s, 'paid', %s, %s) "
            "ON CONFLICT DO NOTHING",
            (properties["order_id"], user, value, properties.get("currency")),
        )


def _read(value: bytes | None) -> Mapping[str, Any] | None:
    try:
        event = json.loads(value or b"")
    except ValueError:  # one of the sample's corrupt records
        return None
    return event if isinstance(event, dict) and isinstance(event.get("properties") or {}, dict) else None
