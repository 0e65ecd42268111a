"""Test oracle for the shop's database: changes replayed commit by commit, and what conversions knew of it."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import groupby
from typing import Any

from kit.oracle_wire import Fields
from kit.records import Stored

CHANGES_TOPIC = "shop_changes"
_COLUMNS = {
    "silver.customers": {"customer_id": "id", "plan": "plan", "country": "country"},
    "silver.products": {
        "product_id": "id",
        **{name: name for name in ("name", "category", "price", "cost", "currency")},
    },
    "silver.campaigns": {
        "campaign_name": "name",
        **{name: name for name in ("objective", "budget", "currency")},
    },
    "silver.orders": {
        "order_id": "id",
        **{name: name for name in ("customer_id", "status", "value", "currency")},
    },
}
_MONEY = ("price", "cost", "budget", "value")
_OF_SHOP = ("shop", {f"public.{name.removeprefix('silver.')}": name for name in _COLUMNS})


def change_of(stored: Stored) -> Fields | str | None:
    """The row of silver.shop_changes in a record, its rejection reason, or None for a tombstone."""
    if stored.record.value is None and stored.record.key:
        return None
    if not stored.record.value:
        return "empty"
    try:
        body = json.loads(stored.record.value)
    except ValueError:
        return "not_json"
    if not {"source", "table", "kind", "lsn", "sequence", "committed_at"} <= body.keys():
        return "bad_change"
    key = body.get("key")
    return {
        **{name: body[name] for name in ("source", "kind", "lsn", "sequence", "committed_at")},
        "source_table": body["table"],
        "row_key": _compact(dict(sorted(key.items()))) if key else None,
        "transaction_id": body.get("transaction", 0),
        "row": None if body.get("row") is None else _compact(body["row"]),
        "unchanged": body.get("unchanged", []),
    }


def versions_of(changes: list[Fields], dimension: str) -> list[Fields]:
    """Rows of a dimension."""
    source, tables = _OF_SHOP
    found: list[Fields] = []
    for table, name in tables.items():
        if name == dimension:
            mine = [each for each in changes if each["source"] == source and each["source_table"] == table]
            found += _replayed(mine, dimension)
    return found


def items_of(
    conversions: list[Fields], trails: list[Fields], events: list[Fields], changes: list[Fields]
) -> list[Fields]:
    """gold.conversion_items: of orders and other goals, since refunds and cancellations are money alone."""
    sent = {event["event_id"]: _products(event["properties"]) for event in events}
    customers, products = (versions_of(changes, f"silver.{name}") for name in ("customers", "products"))
    found = []
    for each in (row for row in conversions if row["is_counted"]):
        steps = [step for step in trails if step["conversion_id"] == each["conversion_id"]]
        seen_at = max((step["at"] for step in steps if step["kind"] in ("impression", "view")), default=None)
        customer = _as_of(customers, "customer_id", each["person_id"], each["converted_at"])
        for line, product_id, quantity in sent.get(each["event_id"]) or [(0, None, None)]:
            product = _as_of(products, "product_id", product_id, each["converted_at"])
            seen = _as_of(products, "product_id", product_id, seen_at)
            row = {
                **{name: each[name] for name in ("conversion_id", "converted_at", "person_id")},
                "line": line,
                "product_id": product_id,
                "quantity": quantity,
                "seen_at": seen_at,
                **{name: customer.get(name) for name in ("plan", "country")},
                **{name: product.get(name) for name in ("category", "price", "cost", "currency")},
                "customer_version_id": customer.get("version_id"),
                "product_version_id": product.get("version_id"),
                "seen_version_id": seen.get("version_id"),
                "seen_price": seen.get("price"),
            }
            price, cost = row["price"], row["cost"]
            row["margin"] = None if price is None or cost is None else price - cost
            if customer or product:
                found.append(row)
    return found


def customer_values(
    changes: list[Fields], columns: Mapping[str, str], conversion: Fields
) -> list[tuple[str, str | None]]:
    """Custom dimensions of a conversion from columns of the shop's customers: name and value.

    Args:
        changes: rows of silver.shop_changes.
        columns: by name, the column of the shop's table.
        conversion: the conversion, or anything else, which has none.
    """
    customers = versions_of(changes, "silver.customers")
    person, at = conversion.get("person_id"), conversion.get("converted_at")
    found = json.loads(_as_of(customers, "customer_id", person, at).get("row") or "{}")
    return [(name, (found.get(column) or "").strip()[:100] or None) for name, column in columns.items()]


def _replayed(changes: list[Fields], dimension: str) -> list[Fields]:
    """Versions of the rows of one table, by replaying all its commits in order."""
    once = {(each["lsn"], each["sequence"]): each for each in changes}
    rows: dict[str, Fields] = {}
    open_rows: dict[str, Fields] = {}
    found: list[Fields] = []
    clock, first_lsn = 0, min((lsn for lsn, _ in once), default=0)
    for lsn, commit in groupby([once[place] for place in sorted(once)], lambda each: each["lsn"]):
        before, kinds = dict(rows), set()
        for each in commit:
            clock = max(clock, each["committed_at"])
            kinds.add(each["kind"])
            _apply(rows, each)
        for key in sorted(before.keys() | rows.keys()):
            if rows.get(key) == before.get(key):
                continue
            if key in open_rows:
                open_rows.pop(key)["valid_to"] = clock
            if key in rows:
                is_older = lsn == first_lsn and "snapshot" in kinds
                started = None if is_older else clock
                open_rows[key] = _version(changes[0], dimension, key, lsn, rows[key])
                open_rows[key] |= {"valid_from": started, "valid_to": None, "changed_at": clock}
                found.append(open_rows[key])
    return found


def _apply(rows: dict[str, Fields], change: Fields) -> None:
    if change["kind"] == "truncate":
        rows.clear()
    elif change["row"] is None:
        rows.pop(change["row_key"], None)
    else:
        known = rows.get(change["row_key"], {})
        kept = {name: known.get(name) for name in change["unchanged"]}
        rows[change["row_key"]] = {**json.loads(change["row"]), **kept}


def _version(of: Fields, dimension: str, key: str, lsn: int, row: Fields) -> Fields:
    place = [of["source"], of["source_table"], key, lsn]
    values = {name: row.get(column) for name, column in _COLUMNS[dimension].items()}
    money = {name: _money(values[name]) for name in _MONEY if name in values}
    return {
        "version_id": hashlib.sha256(_compact(place).encode()).hexdigest()[:32],
        **values,
        **money,
        "row": _compact(row),
        "source": place[0],
        "source_table": place[1],
        "row_key": key,
        "lsn": lsn,
    }


def _as_of(versions: Iterable[Fields], column: str, value: str | None, at: int | None) -> Fields:
    """The version of a row at a time; of several rows with this value, the first one's."""
    if value is None or at is None:
        return {}
    there = [
        each
        for each in versions
        if each[column] == value
        and (each["valid_from"] is None or each["valid_from"] <= at)
        and (each["valid_to"] is None or at < each["valid_to"])
    ]
    names = ("source", "source_table", "row_key", "version_id")
    return min(there, key=lambda each: [each[name] for name in names], default={})


def _products(properties: str | None) -> list[tuple[int, str, int | None]]:
    listed = json.loads(properties or "{}").get("products")
    found = []
    for line, each in enumerate(listed if isinstance(listed, list) else [], 1):
        if isinstance(each, dict) and each.get("product_id") not in (None, ""):
            quantity = each.get("quantity")
            found.append((line, _id_text(each["product_id"]), None if quantity is None else int(quantity)))
    return [(place, *each[1:]) for place, each in enumerate(found, 1)]


def _id_text(value: Any) -> str:
    """A number with an integer value is the integer: data frames write ids as 1001.0."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)


def _money(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value).quantize(Decimal("0.0001"), "ROUND_HALF_UP")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
