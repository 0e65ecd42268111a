"""Orders of events and of a shop's database that differ in known ways, and visits over some months."""

import json
from datetime import datetime, timedelta
from random import Random

from folds.shop.row_history import DELETE, INSERT, SNAPSHOT, TRUNCATE, UPDATE, Change
from kit.oracle_shop import Sent
from kit.oracle_wire import micros
from kit.records import BROWSER, NOON, Record, message, record
from kit.shop_records import BEGAN, change

DAY = timedelta(days=1)
MISSING, DOUBLED, WRONG, EXTRA, COUNT = 12, 7, 3, 2, 60
"""Orders without an event, with two, with another value, of the snapshot without an event; and all others."""

CAMPAIGNS = ("", "?utm_source=google&utm_medium=cpc&utm_campaign=spring", "?utm_source=mail&utm_medium=email")


def order_name(number: int) -> str:
    return f"o{number}"


def value_of(number: int) -> int:
    return 10 + number


def web_records(random: Random) -> list[Record]:
    """Visits of 60 people over 100 days; the first 12 orders are not sent, the next 7 twice."""
    found = []
    for number in range(COUNT):
        visitor, user = f"v{number}", f"u{number % 40}"
        start = NOON + random.random() * 10 * DAY
        for visit, after in enumerate((0, 1.2, 6.9, 29.8, 60)[: random.randrange(1, 6)]):
            at = start + after * DAY
            url = f"https://shop.example/{random.choice(CAMPAIGNS)}"
            of = {"context": {"page": {"url": url}, "userAgent": BROWSER}}
            found.append(record(message(f"{visitor}-{visit}", visitor, "page", at, **of)))
            if random.random() < 0.3:
                found.append(record(message(f"{visitor}-{visit}-i", visitor, "identify", at, userId=user)))
        if number < MISSING:
            continue
        at = start + random.choice([0.01, 6.99, 7.01, 45]) * DAY
        body = {
            "order_id": order_name(number),
            "total": value_of(number),
            "currency": random.choice(["EUR", "usd"]),
        }
        orders = [order(f"{visitor}-o", visitor, user, at, body)]
        if number < MISSING + DOUBLED:
            orders.append(order(f"{visitor}-again", visitor, user, at + DAY, body))
        if random.random() < 0.3:
            refund = {"order_id": order_name(number), "total": 4, "currency": body["currency"]}
            orders.append(
                record(message(f"{visitor}-r", visitor, "Order Refunded", at + 3 * DAY, properties=refund))
            )
        found += orders
    return found


def order(uid: str, visitor: str, user: str, at: datetime, body: dict[str, object]) -> Record:
    return record(message(uid, visitor, "Order Completed", at, userId=user, properties=body))


def shop_records(web: list[Record]) -> list[Record]:
    """The shop's orders: three with another value, two that no event has sent are older, two are deleted."""
    currencies = {}
    for each in web:
        body = json.loads(each.value or b"")
        if body.get("event") == "Order Completed":
            currencies[body["properties"]["order_id"]] = body["properties"]["currency"].upper()
    lsn, at = 10, micros(NOON)
    found = [sent(None, Change(lsn, 0, TRUNCATE, at))]
    for number in range(EXTRA):
        row = {"id": f"old{number}", "value": "3", "currency": "EUR", "status": "paid"}
        found.append(sent(row["id"], Change(lsn, number + 1, SNAPSHOT, at, row)))
    for number in range(COUNT):
        lsn, at = lsn + 10, at + 3_600_000_000
        wrong = MISSING + DOUBLED <= number < MISSING + DOUBLED + WRONG
        row = {
            "id": order_name(number),
            "value": str(value_of(number) + wrong),
            "currency": currencies.get(order_name(number), "EUR"),
            "status": "new",
            "customer_id": f"u{number % 40}",
        }
        found.append(sent(row["id"], Change(lsn, 1, INSERT, at, row)))
        if number % 9 == 0:
            found.append(
                sent(row["id"], Change(lsn + 5, 1, UPDATE, at + 60_000_000, {**row, "status": "paid"}))
            )
        if number >= COUNT - 2:
            found.append(sent(row["id"], Change(lsn + 6, 1, DELETE, at + 90_000_000)))
    return found


def customer_records(random: Random) -> list[Record]:
    """Customers, whose plans change; two are deleted and come again."""
    lsn, at, found = 2000, micros(NOON), []
    for number in range(40):
        for plan in ("free", "plus", "pro")[: random.randrange(1, 4)]:
            lsn, at = lsn + 10, at + 1_800_000_000
            row = {"id": f"u{number}", "plan": plan, "country": "DE"}
            found.append(sent(row["id"], Change(lsn, 1, INSERT, at, row), "public.customers"))
            if number < 2:
                found.append(sent(row["id"], Change(lsn + 5, 1, DELETE, at + 60_000_000), "public.customers"))
    return found


def sent(key: str | None, each: Change, table: str = "public.orders") -> Record:
    seconds = (each.committed_at - BEGAN) // 1_000_000
    return change(Sent(key, each._replace(committed_at=seconds)), table)
