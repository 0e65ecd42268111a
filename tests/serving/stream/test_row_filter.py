"""Conditions of subscribers, in the types of columns."""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from lakehouse.contracts.table import Column, Table
from lakehouse.errors import MillraceError
from serving.stream.row_filter import parse_filter

SALES = Table(
    name="gold.sales",
    grain="sale",
    key=("sale",),
    columns=(
        Column("sale", "string", "id"),
        Column("at", "timestamp", "when"),
        Column("day", "date", "day"),
        Column("count", "bigint", "pieces"),
        Column("value", "decimal(18,4)", "money"),
        Column("is_new", "boolean", "whether"),
    ),
)
ROW = {
    "sale": "s1",
    "at": datetime(2026, 3, 1, 12, tzinfo=timezone.utc),
    "day": date(2026, 3, 1),
    "count": 3,
    "value": Decimal("12.5000"),
    "is_new": None,
}


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({}, True),
        ({"sale": ["s1", "s2"]}, True),
        ({"sale": []}, False),
        ({"sale": {"not": ["s1"]}}, False),
        ({"is_new": [None]}, True),
        ({"is_new": {"not": [None]}}, False),
        ({"count": {"gte": 3, "lt": 4}}, True),
        ({"count": {"gt": 3}}, False),
        ({"value": {"lte": "12.5"}}, True),
        ({"value": [12.5]}, True),
        ({"at": {"gte": "2026-03-01T13:00:00+01:00", "lt": "2026-03-01T12:00:00.000001Z"}}, True),
        ({"day": {"lt": "2026-03-01"}}, False),
        ({"is_new": {"gte": False}}, False),  # null is neither more nor less
    ],
)
def test_conditions(where: dict[str, Any], matches: bool) -> None:
    wanted = parse_filter(SALES, SALES.column_names, where, ())
    assert (wanted(ROW) is not None) is matches


def test_selected_columns_come_with_the_key() -> None:
    wanted = parse_filter(SALES, SALES.column_names, {"count": [3]}, ("value",))
    assert wanted(ROW) == {"sale": "s1", "value": Decimal("12.5000")}
    assert wanted(None) is None


@pytest.mark.parametrize(
    ("where", "select", "reason"),
    [
        ({"sales": ["s1"]}, (), "no column sales. Is sale meant"),
        ({}, ("values",), "no column values. Is value meant"),
        ({"sale": "s1"}, (), "can't be read"),
        ({"sale": {}}, (), "can't be read"),
        ({"sale": {"like": "s"}}, (), "can't be read"),
        ({"sale": {"not": "s1"}}, (), "needs a list"),
        ({"count": ["three"]}, (), "no value of count, which is bigint"),
        ({"count": [True]}, (), "no value of count"),
        ({"at": ["yesterday"]}, (), "no value of at"),
        ({"value": ["a lot"]}, (), "no value of value"),
        ({"sale": [1]}, (), "no value of sale"),
    ],
)
def test_what_cannot_be_read_is_refused(where: dict[str, Any], select: tuple[str, ...], reason: str) -> None:
    with pytest.raises(MillraceError, match=reason):
        parse_filter(SALES, SALES.column_names, where, select)


def test_a_column_that_may_not_be_seen_is_not_there() -> None:
    with pytest.raises(MillraceError, match="no column value"):
        parse_filter(SALES, ("sale", "at"), {"value": {"gte": 1}}, ())
