"""Row conditions and column selections of subscribers."""

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.access.mask_key import MaskKey
from lakehouse.access.masks import Mask
from lakehouse.access.table_view import TableView
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.table import Column, Table
from lakehouse.errors import MillraceError
from serving.sources.row_filter import wanted_of

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
ROWS = pa.Table.from_pylist([ROW], arrow_schema(SALES))


def view_of(**masks: Mask) -> TableView:
    return TableView(SALES, MaskKey(Path("nowhere")), masks)


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({}, True),
        ({"sale": ["s1", "s2"]}, True),
        ({"sale": ["s2"]}, False),
        ({"sale": {"not": ["s1"]}}, False),
        ({"is_new": [None]}, True),
        ({"count": {"gte": 3, "lt": 4}}, True),
        ({"count": {"gt": 3}}, False),
        ({"value": {"lte": "12.5"}}, True),
        ({"value": [12.5]}, True),
        ({"at": {"gte": "2026-03-01T13:00:00+01:00", "lt": "2026-03-01T12:00:00.000001Z"}}, True),
        ({"day": {"lt": "2026-03-01"}}, False),
        ({"is_new": {"not": [True]}}, False),  # null matches only a condition that lists it
    ],
)
def test_condition_is_evaluated_in_type_of_column(where: dict[str, Any], matches: bool) -> None:
    assert wanted_of(view_of(), where, ()).apply(ROWS).num_rows == matches


def test_selected_columns_include_the_key() -> None:
    wanted = wanted_of(view_of(), {"count": [3]}, ("value",))
    assert wanted.apply(ROWS).to_pylist() == [{"sale": "s1", "value": Decimal("12.5000")}]


@pytest.mark.parametrize(
    ("where", "select", "reason"),
    [
        ({"sales": ["s1"]}, (), "no column sales. Is sale meant"),
        ({}, ("values",), "no column values. Is value meant"),
        ({"sale": "s1"}, (), "can't be read"),
        ({"sale": {}}, (), "can't be read"),
        ({"sale": []}, (), "can't be read"),
        ({"sale": {"like": "s"}}, (), "there is no condition like"),
        ({"sale": {"not": "s1"}}, (), "not has to be a list"),
        ({"count": ["three"]}, (), "'three' is no bigint"),
        ({"count": [True]}, (), "True is no bigint"),
        ({"at": ["yesterday"]}, (), "yesterday does not fit timestamp"),
        ({"value": ["a lot"]}, (), "a lot does not fit decimal"),
        ({"sale": [1]}, (), "1 is no string"),
    ],
)
def test_invalid_condition_or_column_is_rejected(
    where: dict[str, Any], select: tuple[str, ...], reason: str
) -> None:
    with pytest.raises(MillraceError, match=reason):
        wanted_of(view_of(), where, select)


def test_condition_on_hidden_column_is_rejected_as_unknown() -> None:
    with pytest.raises(MillraceError, match="no column value"):
        wanted_of(view_of(value=Mask.HIDE), {"value": {"gte": 1}}, ())


def test_condition_on_masked_column_applies_to_masked_value() -> None:
    view = view_of(value=Mask.NULL)
    seen = view.apply(ROWS)
    assert wanted_of(view, {"value": ["12.5"]}, ()).apply(seen).num_rows == 0
    assert wanted_of(view, {"value": [None]}, ()).apply(seen).num_rows == 1
