"""Rows of dimensions: mapped columns, renamed ones, money, and ids of versions."""

from decimal import Decimal
from typing import Any

import pytest

from folds.shop.dimension_rows import DimensionFold, SentChange, version_id

KEY = '{"id":"1"}'
FOLD = DimensionFold({"product_id": ("string", ["id"]), "price": ("decimal(18,4)", ["price", "amount"])}, "r")


def sent(row: str | None, lsn: int = 7, kind: str = "insert", stamp: int = 3) -> SentChange:
    return SentChange("shop", "public.products", KEY, kind, lsn, 1, 100 + lsn, row, [], stamp)


def test_row_of_a_version() -> None:
    [row] = FOLD(KEY, [sent('{"id":"1","price":"9.5"}')])
    assert row == (
        *(version_id("shop", "public.products", KEY, 7), "1", Decimal("9.5000"), 107, None, 107),
        *('{"id":"1","price":"9.5"}', "shop", "public.products", KEY, 7, "r", 3),
    )


def test_renamed_column_is_read_by_each_of_its_names() -> None:
    rows = FOLD(KEY, [sent('{"id":"1","price":"1"}', 7), sent('{"id":"1","amount":"2"}', 8)])
    assert [row[2] for row in rows] == [1, 2]


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("1.00005", Decimal("1.0001")),
        ("NaN", None),
        ("x", None),
        ("1e14", None),
        ("99999999999999.99995", None),
    ],
)
def test_price_is_rounded_half_up_or_null(text: str, price: Any) -> None:
    assert FOLD(KEY, [sent(f'{{"price":"{text}"}}')])[0][2] == price


def test_version_has_the_latest_stamp_of_the_changes_that_make_and_end_it() -> None:
    rows = [
        sent('{"price":"1"}', 7, stamp=3),
        sent('{"price":"2"}', 8, stamp=4),
        sent('{"price":"3"}', 9, stamp=5),
    ]
    assert [row[-1] for row in FOLD(KEY, rows)] == [4, 5, 5]
    assert [row[-1] for row in FOLD(KEY, [rows[0], sent(None, 8, "delete", stamp=4)])] == [4]


def test_copies_give_no_version() -> None:
    once = [sent('{"id":"1"}')]
    assert FOLD(KEY, once * 3) == FOLD(KEY, once)


def test_row_whose_delete_comes_first_has_no_version_yet() -> None:
    assert FOLD(KEY, [sent(None, 9, "delete")]) == []
