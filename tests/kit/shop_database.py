"""A shop's PostgreSQL for tests: tables, random transactions, and a history that triggers keep."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from random import Random
from typing import Any

import psycopg

from folds.shop.row_history import Version
from shop.shop_file import ShopSource

TABLES = {
    "public.customers": ("id", "plan", "country", "note"),
    "public.products": ("id", "name", "category", "price", "cost", "currency"),
    "public.campaigns": ("name", "objective", "budget", "currency"),
}
SOURCE = ShopSource.model_validate(
    {
        "connection": "SHOP_DSN",
        "tables": {
            "public.customers": {"dimension": "customers", "columns": {"customer_id": "id", "plan": "plan"}},
            "public.products": {
                "dimension": "products",
                "columns": {
                    "product_id": "id",
                    **{name: name for name in ("name", "category", "price", "cost", "currency")},
                },
            },
            "public.campaigns": {
                "dimension": "campaigns",
                "key": ["name"],
                "columns": {"campaign_name": "name", "objective": "objective", "budget": "budget"},
            },
        },
    }
)
"""customers has long values and the default identity; products change keys; campaigns have a full identity,
long values and change keys."""

_SCHEMA = """
CREATE TABLE customers (id bigint PRIMARY KEY, plan text, country text, note text);
ALTER TABLE customers ALTER note SET STORAGE EXTERNAL;
CREATE TABLE products (id text PRIMARY KEY, name text, category text, price numeric(12, 2),
    cost numeric(12, 2), currency text DEFAULT 'EUR');
CREATE TABLE campaigns (name text PRIMARY KEY, objective text, budget numeric, currency text);
ALTER TABLE campaigns ALTER objective SET STORAGE EXTERNAL;
ALTER TABLE campaigns REPLICA IDENTITY FULL;
CREATE TABLE orders (id text PRIMARY KEY, customer_id text, status text, value numeric, currency text);
CREATE TABLE kept (number bigserial, transaction bigint DEFAULT txid_current(), source_table text,
    row_key text, state text, at bigint DEFAULT extract(epoch FROM clock_timestamp()) * 1000000);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    INSERT INTO kept (source_table) VALUES (TG_TABLE_NAME);
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO kept (source_table, row_key)
      VALUES (TG_TABLE_NAME, row_to_json(OLD) ->> TG_ARGV[0]);
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO kept (source_table, row_key, state)
      VALUES (TG_TABLE_NAME, row_to_json(NEW) ->> TG_ARGV[0], NEW::text);
  END IF;
  RETURN NULL;
END $$;
"""


def create_shop(dsn: str, rows: int = 20) -> None:
    """Create the tables with some rows, and triggers that keep every state."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(_SCHEMA)
        for name, columns in TABLES.items():
            on = f"ON {name} FOR EACH"
            connection.execute(
                f"CREATE TRIGGER keep_rows AFTER INSERT OR UPDATE OR DELETE {on} ROW "
                f"EXECUTE FUNCTION keep('{columns[0]}')".encode()
            )
            connection.execute(
                f"CREATE TRIGGER keep_truncates AFTER TRUNCATE {on} STATEMENT "
                f"EXECUTE FUNCTION keep('{columns[0]}')".encode()
            )
        random = Random(1)
        for _ in range(rows):
            for table in TABLES:
                insert(connection, table, random)


def all_rows(connection: psycopg.Connection[Any], table: str) -> dict[str, tuple[str | None, ...]]:
    """Current rows of a table by key, all values as text."""
    columns = ", ".join(f"{name}::text" for name in TABLES[table])
    found = connection.execute(f"SELECT {columns} FROM {table}".encode()).fetchall()
    return {row[0]: row for row in found}


def insert(connection: psycopg.Connection[Any], table: str, random: Random) -> None:
    """Insert a row, unless its key is taken."""
    key, long = str(random.randrange(60)), "x" * random.choice([3, 3000])
    values = {
        "public.customers": (key, random.choice("ABC"), random.choice(["DE", None]), long),
        "public.products": (key, f"Ünï'\"\\ {key}", None, random.randrange(99), 1, "EUR"),
        "public.campaigns": (key, long, random.randrange(9), "EUR"),
    }[table]
    marks = ", ".join(["%s"] * len(values))
    connection.execute(f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING".encode(), values)


def run_transactions(connection: psycopg.Connection[Any], random: Random, count: int) -> Iterator[int]:
    """Run random transactions, some of which are rolled back. Yields the number of each."""
    for number in range(count):
        with connection.transaction() as transaction:
            for _ in range(random.choice([1, 1, 2, 5])):
                _statement(connection, random)
            if random.random() < 0.15:
                raise psycopg.Rollback(transaction)
        yield number


def _statement(connection: psycopg.Connection[Any], random: Random) -> None:
    table = random.choice(list(TABLES))
    key, value = TABLES[table][0], TABLES[table][1]
    wanted, dice = str(random.randrange(60)), random.random()
    if dice < 0.35:
        insert(connection, table, random)
    elif dice < 0.6:
        connection.execute(
            f"UPDATE {table} SET {value} = %s WHERE {key}::text = %s".encode(),
            (random.choice("ABC") * random.choice([1, 3000]), wanted),
        )
    elif dice < 0.7:  # several rows; long values stay as they are
        column = "country" if table == "public.customers" else "currency"
        connection.execute(f"UPDATE {table} SET {column} = %s".encode(), (random.choice(["EUR", "USD"]),))
    elif dice < 0.85:
        connection.execute(f"DELETE FROM {table} WHERE {key}::text = %s".encode(), (wanted,))
    elif dice < 0.99 and table != "public.customers":
        _move(connection, table, key, wanted, str(random.randrange(60)))
    elif dice > 0.995:
        connection.execute(f"TRUNCATE {table}".encode())


def _move(connection: psycopg.Connection[Any], table: str, key: str, old: str, new: str) -> None:
    """Change the key of a row, unless the new one is taken."""
    connection.execute(
        f"UPDATE {table} SET {key} = %s WHERE {key} = %s "
        f"AND NOT EXISTS (SELECT 1 FROM {table} WHERE {key} = %s)".encode(),
        (new, old, new),
    )


def micros_now(connection: psycopg.Connection[Any]) -> int:
    """The server's clock, in microseconds; no commit has the same time."""
    connection.execute("SELECT pg_sleep(0.001)")
    found = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").fetchone()
    connection.execute("SELECT pg_sleep(0.001)")
    return int(found[0]) if found else 0


KeptStates = dict[str, list[tuple[Any, ...]]]


def kept_states(connection: psycopg.Connection[Any], began: int) -> dict[str, KeptStates]:
    """By table and key, the states since a time as triggers kept them, one for each commit."""
    found: dict[str, KeptStates] = {}
    for table, columns in TABLES.items():
        short = table.removeprefix("public.")
        values = ", ".join(f"(state::{short}).{name}::text" for name in columns)
        kept = connection.execute(
            f"SELECT transaction, row_key, state IS NULL, at < %s, {values} FROM kept "
            "WHERE source_table = %s ORDER BY number".encode(),
            (began, short),
        ).fetchall()
        found[table] = _distinct_states(kept)
    return found


def _distinct_states(kept: list[tuple[Any, ...]]) -> KeptStates:
    now: dict[str, tuple[Any, ...] | None] = {}
    found: KeptStates = {}
    for (_, is_early), of_transaction in groupby(kept, key=lambda row: (row[0], row[3])):
        before = dict(now)
        for _, key, is_gone, _, *state in of_transaction:
            if key is None:
                now = dict.fromkeys(now)
            else:
                now[key] = None if is_gone else tuple(state)
        for key, state_now in now.items():
            if state_now is not None and state_now != before.get(key) and not is_early:
                found.setdefault(key, []).append(state_now)
    return found


def as_of(versions: Mapping[str, list[Version]], at: int) -> dict[str, tuple[str | None, ...]]:
    """Rows at a time, by key."""
    return {
        key: tuple(each.row.values())
        for key, of_key in versions.items()
        for each in of_key
        if (each.valid_from or 0) <= at and (each.valid_to is None or at < each.valid_to)
    }
