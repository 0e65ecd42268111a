"""Records of shop changes, and dimensions as a table that keeps every state has them."""

import json
from typing import Any

from folds.shop.row_history import Version, versions_of
from kit.oracle_shop import KeptTable, Sent
from kit.records import Record

TOPIC = "shop_changes"
CUSTOMERS = "public.customers"
BEGAN = 1_772_366_400_000_000
"""Time (microseconds) that clocks of tests count from."""


def change(sent: Sent, table: str = CUSTOMERS) -> Record:
    """The record of a change."""
    key = None if sent.key is None else {"id": sent.key}
    each = sent.change
    body = {
        "source": "shop",
        "table": table,
        "key": key,
        "kind": each.kind,
        "row": each.row,
        "unchanged": list(each.unchanged),
        "lsn": each.lsn,
        "sequence": each.sequence,
        "transaction": 1,
        "committed_at": BEGAN + each.committed_at * 1_000_000,
    }
    return Record(json.dumps(body).encode(), topic=TOPIC, key=json.dumps(["shop", table, key]).encode())


def expected_customers(table: KeptTable) -> list[dict[str, Any]]:
    """Rows of silver.customers after all changes of a table, as far as they follow from these alone."""
    of_all = [sent.change for sent in table.log if sent.key is None]
    found = []
    for key in {sent.key for sent in table.log if sent.key}:
        mine = [*of_all, *(sent.change for sent in table.log if sent.key == key)]
        found += [_row(key, each) for each in versions_of(mine)]
    return sorted(found, key=repr)


def _row(key: str, version: Version) -> dict[str, Any]:
    return {
        "customer_id": key,
        "plan": version.row["plan"],
        "valid_from": _time(version.valid_from),
        "valid_to": _time(version.valid_to),
        "lsn": version.lsn,
        "row": json.dumps(version.row, separators=(",", ":"), ensure_ascii=False),
    }


def _time(at: int | None) -> int | None:
    return None if at is None else BEGAN + at * 1_000_000
