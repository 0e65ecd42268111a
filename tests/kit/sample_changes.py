"""Changes of a shop's database for the customers, products and orders of some events."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from random import Random

from folds.shop.row_history import DELETE, INSERT, SNAPSHOT, TRUNCATE, UPDATE, Change
from kit.oracle_dimensions import CHANGES_TOPIC
from kit.oracle_shop import Row, Sent
from kit.oracle_wire import Fields
from kit.records import Record, Stored
from kit.shop_records import BEGAN, change

_STEP = 10


def sample_changes(events: Sequence[Fields], stamp: datetime, random: Random) -> list[Stored]:
    """A snapshot of customers and products, orders and random updates; with copies and bad records.

    Args:
        events: of the oracle.
        stamp: the ingest stamp of all changes.
        random: what changes.
    """
    users = sorted({event["user_id"] for event in events if event["user_id"]})
    bought = sorted({name for event in events for name in event["shown_products"] or ()} - {None})
    products = [f"{name}" for name in bought[:20]] + ["mug"]
    tables: dict[str, list[Row]] = {
        "public.customers": [
            {"id": each, "plan": "free", "country": "DE", "note": "x" * 50} for each in users
        ],
        "public.products": [
            {"id": each, "name": "ünï", "price": "9.5", "cost": "4", "currency": "EUR"} for each in products
        ],
    }
    orders = sorted({event["order_id"] for event in events if event["order_id"]})
    start = min(event["event_time"] for event in events)
    records = list(_snapshot(tables, start))
    records += _updates(tables, orders, start, max(event["event_time"] for event in events), random)
    records += random.sample(records, 5)
    records += [Record(None, topic=CHANGES_TOPIC, key=b"k"), Record(b"no", topic=CHANGES_TOPIC)]
    records.append(Record(b"", topic=CHANGES_TOPIC))
    return [Stored(each, offset, stamp) for offset, each in enumerate(records)]


def _snapshot(tables: dict[str, list[Row]], at: int) -> Iterator[Record]:
    for table, rows in tables.items():
        yield _sent(table, None, Change(1, 0, TRUNCATE, at))
        for number, row in enumerate(rows, 1):
            yield _sent(table, row["id"], Change(1, number, SNAPSHOT, at, row))


def _updates(
    tables: dict[str, list[Row]], orders: Sequence[str], first: int, last: int, random: Random
) -> list[Record]:
    times = sorted(random.randrange(first, last) for _ in range(120))
    found = []
    for number, at in enumerate(times):
        table = random.choice(list(tables))
        row, lsn = random.choice(tables[table]), 100 + number * _STEP
        if table == "public.products":
            row |= {"price": str(random.randrange(1, 50))}
            found.append(_sent(table, row["id"], Change(lsn, 1, UPDATE, at, dict(row))))
        elif random.random() < 0.2:
            found.append(_sent(table, row["id"], Change(lsn, 1, DELETE, at)))
            found.append(_sent(table, row["id"], Change(lsn + 1, 1, INSERT, at, dict(row))))
        else:
            row |= {"plan": random.choice(["free", "plus", "pro"])}
            short = {name: value for name, value in row.items() if name != "note"}
            found.append(_sent(table, row["id"], Change(lsn, 1, UPDATE, at, short, ("note",))))
        name = orders[number] if number < len(orders) else f"o{number}"
        order: Row = {"id": name, "customer_id": row["id"], "value": "7.25", "currency": "EUR"}
        found.append(_sent("public.orders", order["id"], Change(lsn, 2, INSERT, at, order)))
    return found


def _sent(table: str, key: str | None, each: Change) -> Record:
    """The record of a change, whose time is in microseconds since 1970."""
    seconds = (each.committed_at - BEGAN) // 1_000_000
    return change(Sent(key, each._replace(committed_at=seconds)), table)
