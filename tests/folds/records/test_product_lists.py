"""Products of an event are read entry by entry, with ids as silver reads them."""

import json
from typing import Any

import pytest

from folds.records.product_lists import Line, lines


@pytest.mark.parametrize(
    ("products", "found"),
    [
        ([{"product_id": "mug", "quantity": 2}], [("mug", "2")]),
        ([{"product_id": "mug"}, "gift wrap", {"product_id": "cup"}], [("mug", None), ("cup", None)]),
        ([{"product_id": 1001.0, "quantity": 2.0}], [("1001", "2")]),
        ([{"product_id": "1001.0"}], [("1001.0", None)]),
        ([{"quantity": 1}, {"product_id": ""}, {"product_id": None}], []),
        ([{"product_id": "mug", "quantity": {"of": 2}}], [("mug", '{"of":2}')]),
        ("mug", []),
        ({"product_id": "mug"}, []),
        (None, []),
    ],
)
def test_lines_are_the_entries_with_a_product_id(products: Any, found: list[tuple[str, str | None]]) -> None:
    assert lines(json.dumps({"products": products, "total": 20})) == [Line(*each) for each in found]


def test_event_without_products_has_no_lines() -> None:
    assert lines("{}") == []
