"""Generated shop traffic without errors, and functions that plant one kind of error."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kit.records import NOON, Record, instant, message, rate, record

VISITORS = 240
Change = Callable[[dict[str, Any], random.Random], dict[str, Any] | None]


def rates() -> list[Record]:
    """Records of exchange rates."""
    return [rate(code, worth, NOON - timedelta(days=9)) for code, worth in (("USD", "0.9"), ("GBP", "1.2"))]


def shop(seed: int, begin: datetime = NOON, visitors: int = VISITORS, orders: int = 2) -> list[Record]:
    """Records of visitors who see a promotion, click it and buy. No event is late."""
    chance = random.Random(seed)
    reported = [
        body for number in range(visitors) for body in _visit(chance, begin, f"{seed}-{number}", orders)
    ]
    return [_arriving(body) for body in sorted(reported, key=lambda body: str(body["originalTimestamp"]))]


def _visit(chance: random.Random, begin: datetime, name: str, orders: int) -> Iterator[dict[str, Any]]:
    at = begin + timedelta(seconds=chance.randrange(3000))

    def event(kind: str, **properties: Any) -> dict[str, Any]:
        nonlocal at
        at += timedelta(seconds=chance.randrange(11, 40))
        uid = f"{name}-{kind}-{at:%H%M%S}"
        page = {"url": f"https://shop.example/{kind.split(maxsplit=1)[0].lower()}"}
        return message(uid, f"v-{name}", kind, at, context={"page": page}, properties=properties)

    yield event("page")
    promotion = f"p{chance.randrange(9)}"
    yield event("Promotion Viewed", promotion_id=promotion)
    yield event("Promotion Clicked", promotion_id=promotion)
    for number in range(orders):
        yield event(
            "Order Completed",
            order_id=f"o-{name}-{number}",
            total=round(chance.uniform(20, 400), 2),
            currency=chance.choice(("EUR", "EUR", "USD", "GBP")),
        )


def _arriving(body: dict[str, Any]) -> Record:
    at = datetime.fromisoformat(body["originalTimestamp"].replace("Z", "+00:00"))
    return record({**body, "sentAt": instant(at), "receivedAt": instant(at)}, timestamp=at)


def plant(records: list[Record], share: float, change: Change, seed: int = 1) -> list[Record]:
    """The records, with a change applied to a share of them. A change that returns None drops the record."""
    chance = random.Random(seed)
    found = []
    for each in records:
        body = json.loads(each.value or b"{}")
        changed = change(body, chance) if chance.random() < share else body
        if changed is not None:
            found.append(replace(each, value=json.dumps(changed).encode()))
    return found


def of_orders(**properties: Callable[[Any], Any]) -> Change:
    """A change of order properties. A function that returns None removes the property."""

    def change(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
        if body.get("event") != "Order Completed":
            return body
        reported = {name: properties.get(name, lambda same: same)(value)
                for name, value in body["properties"].items()}  # fmt: skip
        return {**body, "properties": {name: value for name, value in reported.items() if value is not None}}

    return change


def without_identity(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """A change that removes the visitor id."""
    return {name: value for name, value in body.items() if name != "anonymousId"}


def an_hour_off(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """A change that sets the device clock one hour back, without `sentAt`."""
    at = datetime.fromisoformat(body["originalTimestamp"].replace("Z", "+00:00")) - timedelta(hours=1)
    kept = {name: value for name, value in body.items() if name != "sentAt"}
    return {**kept, "originalTimestamp": instant(at)}


def on_something_else(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """A change of clicks to a promotion without impressions."""
    if body.get("event") != "Promotion Clicked":
        return body
    return {**body, "properties": {"promotion_id": f"gone-{chance.randrange(9)}"}}
