"""A mask also covers columns from which the masked value can be derived."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kit.access import policy
from lakehouse.access.masks import Mask
from lakehouse.access.role import Role
from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema

ROLE_WITH_ALL_TABLES = "roles: {{a: {{tables: ['*'], mask: {{{mask}}}}}}}"
IDENTITIES = ("visitor_id", "user_id", "person_id")


def masks(folder: Path, mask: str) -> dict[tuple[str, str], Mask]:
    found = policy(folder, ROLE_WITH_ALL_TABLES.format(mask=mask)).role("a").masks
    return {(table, column): each for table, of in found.items() for column, each in of.items()}


@pytest.mark.parametrize("declared", IDENTITIES)
@pytest.mark.parametrize("mask", ["hash", "hide"])
def test_mask_of_one_identity_covers_all_identities(declared: str, mask: str, tmp_path: Path) -> None:
    if mask == "hide" and declared == "visitor_id":  # the key of bots
        declared = "silver.sessions.visitor_id"
    found = masks(tmp_path, f"{declared}: {mask}")
    for table in TABLES.values():
        for name in set(IDENTITIES) & set(table.column_names):
            expected = Mask.HASH if name in table.key else Mask(mask)
            assert found[table.name, name] is expected


def test_identity_mask_covers_derived_ids_but_not_event_ids(tmp_path: Path) -> None:
    found = masks(tmp_path, "visitor_id: hash")
    assert not [place for place in found if place[1] in ("event_id", "conversion_id", "order_id")]
    assert found["silver.sessions", "session_id"] is Mask.HASH, "derived from the visitor"
    assert found["gold.attribution", "touch_id"] is Mask.HASH, "a session's id"
    assert found["gold.conversion_items", "customer_version_id"] is Mask.HASH, "made from the customer's id"
    assert found["gold.sketches", "visitors"] is Mask.NULL, "asks whether a visitor is in it"


def test_order_mask_covers_conversion_id_but_not_visitor(tmp_path: Path) -> None:
    found = masks(tmp_path, "order_id: hide")
    assert found["gold.trails", "conversion_id"] is Mask.HASH
    assert ("silver.sessions", "visitor_id") not in found


def test_any_mask_covers_subjects_of_read_log(tmp_path: Path) -> None:
    assert masks(tmp_path, "order_id: hide")["ops.reads", "subject"] is Mask.NULL


def test_mask_of_conversion_value_covers_order_values_in_all_tables(tmp_path: Path) -> None:
    found = masks(tmp_path, "gold.conversions.value: 'null'")
    assert found["gold.attribution", "credited_value"] is Mask.NULL
    assert found["gold.order_comparisons", "shop_value"] is Mask.NULL, "the shop's database has the same"
    assert found["silver.orders", "value"] is Mask.NULL
    assert found["gold.visitor_minutes", "value"] is Mask.NULL, "mostly of one order"
    assert found["silver.events", "properties"] is Mask.NULL, "has the value as sent"
    assert ("gold.traffic", "reporting_value") not in found
    assert ("silver.events", "url") not in found


def test_mask_of_purchase_cost_covers_margin_of_items_but_not_price(tmp_path: Path) -> None:
    found = masks(tmp_path, "silver.products.cost: 'null'")
    assert found["gold.conversion_items", "cost"] is Mask.NULL
    assert found["gold.conversion_items", "margin"] is Mask.NULL, "price less cost"
    assert ("gold.conversion_items", "price") not in found
    assert ("gold.campaign_performance", "cost") not in found


def test_declared_mask_overrides_derived_mask(tmp_path: Path) -> None:
    found = masks(tmp_path, "visitor_id: hash, silver.events.url: hash, properties: hide, user_id: hide")
    assert found["silver.events", "url"] is Mask.HASH
    assert found["silver.events", "properties"] is Mask.HIDE
    assert found["silver.events", "user_id"] is Mask.HIDE


def test_mask_covers_nested_fields_of_same_name(tmp_path: Path) -> None:
    found = masks(tmp_path, "product_id: hide")
    for place in (("silver.searches", "made_of"), ("gold.search_performance", "top_products")):
        assert found[place] is Mask.NULL


SECRET = "ann-4711@shop.example"
STARTED = 1_772_000_000_000_000


@pytest.fixture
def identity_rows() -> dict[str, pa.Table]:
    """One row of each table, with SECRET in every column that may hold an identity."""
    return {name: pa.Table.from_pylist([_row(name)], arrow_schema(TABLES[name])) for name in TABLES}


def _row(name: str) -> dict[str, Any]:
    free = {*IDENTITIES, "url", "referrer", "entry_url", "exit_url", "entry_referrer", "properties", "value"}
    row: dict[str, Any] = {}
    for field in arrow_schema(TABLES[name]):
        if field.name in ("session_id", "touch_id"):
            row[field.name] = sha256(f"{STARTED}|{SECRET}".encode()).hexdigest()[:32]
        elif pa.types.is_nested(field.type) or (field.name in free and pa.types.is_string(field.type)):
            row[field.name] = _with_secret(field.type)
        elif pa.types.is_binary(field.type):
            row[field.name] = f"?u={SECRET}".encode()
    return row


def _with_secret(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return [_with_secret(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: _with_secret(field.type) for field in kind}
    if pa.types.is_string(kind):
        return f"https://shop.example/?u={SECRET}"
    return f"?u={SECRET}".encode() if pa.types.is_binary(kind) else None


COLUMNS_WITHOUT_IDENTITY = {
    "shown_products",
    "clicked_products",
    "top_products",
    "made_of",
    "reasons",
    "order_values",
    "sent_names",
    "unchanged",
}
"""Products, search terms, names of expectations and of campaigns, and values of orders."""


@pytest.mark.parametrize("declared", [*IDENTITIES, "silver.sessions.visitor_id"])
def test_identity_mask_leaves_no_identity_in_any_column(
    declared: str, identity_rows: dict[str, pa.Table], tmp_path: Path
) -> None:
    role = policy(tmp_path, ROLE_WITH_ALL_TABLES.format(mask=f"{declared}: hash")).role("a")
    found = set(_leaks(role, identity_rows))
    assert {place for place in found if place[1] not in COLUMNS_WITHOUT_IDENTITY} == set()


def test_unmasked_rows_contain_identities(identity_rows: dict[str, pa.Table], tmp_path: Path) -> None:
    role = policy(tmp_path, "roles: {a: {tables: ['*']}}").role("a")
    assert len(set(_leaks(role, identity_rows))) > 40


def _leaks(role: Role, identity_rows: dict[str, pa.Table]) -> Iterator[tuple[str, str]]:
    guess = sha256(f"{STARTED}|{SECRET}".encode()).hexdigest()[:32]
    for name, rows in identity_rows.items():
        view = role.view(TABLES[name])
        assert view is not None
        for column in (shown := view.apply(rows)).column_names:
            text = repr(shown[column].to_pylist())
            if SECRET in text or guess in text:
                yield name, column
