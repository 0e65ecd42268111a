"""Records of shop changes: what is a change, what is rejected, and why."""

import json
from typing import Any

import pytest

from folds.shop.change_record import ShopChange, parse_change

BODY = {
    "source": "shop",
    "table": "public.products",
    "key": {"id": "1"},
    "kind": "update",
    "row": {"id": "1", "name": None},
    "unchanged": ["note"],
    "lsn": 7,
    "sequence": 2,
    "transaction": 5,
    "committed_at": 1_772_366_400_000_000,
}
ROW = ShopChange(
    *("shop", "public.products", '{"id":"1"}', "update", 7, 2, 5, 1_772_366_400_000_000),
    *('{"id":"1","name":null}', ["note"]),
)


def parsed(**more: Any) -> ShopChange | str | None:
    return parse_change(json.dumps({**BODY, **more}).encode(), b"key")


def test_change_of_a_row() -> None:
    assert parsed() == ROW


def test_key_has_one_text_whatever_the_order_of_its_columns() -> None:
    first, second = parsed(key={"a": "1", "b": "2"}), parsed(key={"b": "2", "a": "1"})
    assert first == second


def test_truncate_has_no_key() -> None:
    assert parsed(kind="truncate", key=None, row=None) == ROW._replace(
        kind="truncate", row_key=None, row=None
    )


def test_record_without_a_value_is_a_tombstone() -> None:
    assert parse_change(None, b"key") is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "empty"),
        (b"", "empty"),
        (b"{", "not_json"),
        (b"\xff", "not_json"),
        (b"[]", "bad_change"),
        (b'{"x":' + b"[" * 900 + b"]" * 900 + b"}", "bad_change"),
        (b'{"x":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "not_json"),
    ],
)
def test_record_that_is_no_object_is_rejected(value: bytes | None, reason: str) -> None:
    assert parse_change(value, None) == reason


@pytest.mark.parametrize(
    "more",
    [
        {"kind": "rename"},
        {"kind": "delete"},  # with a row
        {"row": None},
        {"key": None},
        {"key": {}},
        {"kind": "truncate", "row": None},  # with a key
        {"source": ""},
        {"lsn": -1},
        {"lsn": 2**63},
        {"sequence": 2**31},
        {"committed_at": 253_402_300_800_000_000},
        {"row": {"id": 1}},
        {"unchanged": None},
    ],
    ids=str,
)
def test_change_that_is_not_possible_is_rejected(more: dict[str, Any]) -> None:
    assert parsed(**more) == "bad_change"
