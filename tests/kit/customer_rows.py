"""Rows of the shop's database in bronze and silver: of two customers whose ids are numbers, and of nobody."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any

from kit.warehouse_builder import Row

STAMP = datetime(2026, 11, 2, tzinfo=timezone.utc)
"""High-water mark of the jobs."""

CUSTOMERS, ORDERS = "public.customers", "public.orders"


def _row(offset: int, table: str, row: dict[str, str] | None, key: dict[str, str]) -> dict[str, Any]:
    """A row of silver.shop_changes, of a dimension, and of bronze."""
    kind = "delete" if row is None else "insert"
    change = {"source": "shop", "table": table, "kind": kind, "lsn": offset, "sequence": 0, "committed_at": 1}
    return {
        "topic": "shop_changes",
        "partition": 0,
        "offset": offset,
        "ingested_at": STAMP,
        "source": "shop",
        "source_table": table,
        "row": row and json.dumps(row),
        "row_key": json.dumps(key),
        "version_id": str(offset),
        "customer_id": (row or {}).get("id" if table == CUSTOMERS else "customer_id"),
        "value": json.dumps({**change, "key": key, "row": row}).encode(),
    }


SHOP_ROWS = [
    _row(0, CUSTOMERS, {"id": "42", "plan": "pro"}, {"id": "42"}),
    _row(1, CUSTOMERS, {"id": "7", "email": "eve@example.com", "house_number": "42"}, {"id": "7"}),
    _row(2, ORDERS, {"id": "o-1", "customer_id": "42", "value": "5"}, {"id": "o-1"}),
    _row(3, ORDERS, {"id": "42", "customer_id": "7", "value": "42"}, {"id": "42"}),
    _row(4, CUSTOMERS, None, {"id": "42"}),
    _row(5, "public.products", {"id": "42", "name": "boots"}, {"id": "42"}),
    _row(6, "public.notes", {"id": "n-1", "writer": "42"}, {"id": "n-1"}),
]
"""Rows of customers 42 and 7, of a product, and of a table that conf/shop.yml does not have."""

_BAD = (b'{"customer": "42"', b'{"customer": "43"}', None)
"""Values of records that are no changes, and of a tombstone."""

IDENTITIES = [{"visitor_id": "v-42", "user_id": "42"}]
LEDGER = [{"job": "refine", "position": STAMP + timedelta(2)}, {"job": "dimensions", "position": STAMP}]


def tables_of_shop() -> dict[str, list[Row]]:
    """Tables after the job dimensions."""
    return {
        "bronze.kafka_records": [{**row, "value": b"{}"} for row in SHOP_ROWS],
        "silver.identities": IDENTITIES,
        "silver.shop_changes": SHOP_ROWS,
        "silver.customers": SHOP_ROWS[:2],
        "silver.orders": SHOP_ROWS[2:4],
        "ops.ledger": LEDGER,
    }


def new_records() -> list[Row]:
    """Records of bronze that refine has passed, and the job dimensions has not."""
    bad = [
        {**SHOP_ROWS[0], "offset": number, "value": value, "key": b"[]"}
        for number, value in enumerate(_BAD, len(SHOP_ROWS))
    ]
    later = timedelta(1)
    return [{**row, "offset": row["offset"] + 10, "ingested_at": STAMP + later} for row in (*SHOP_ROWS, *bad)]
