"""Row filters pass the values that the conditions of the policy describe."""

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.access import passes
from lakehouse.access.row_filters import column_filter
from lakehouse.contracts.arrow import arrow_type
from lakehouse.contracts.table import Column

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["", "Email", "email", "Direct", "é"]),
    "bigint": st.integers(-3, 3),
    "double": st.sampled_from([0.1, 0.5, 1.0, -1.0]),
    "date": st.dates(date(2026, 1, 1), date(2026, 1, 4)),
    "boolean": st.booleans(),
}


@st.composite
def cases(draw: Any) -> tuple[str, list[Any], Any]:
    kind = draw(st.sampled_from(sorted(VALUES)))
    value = VALUES[kind]
    some = st.lists(st.none() | value, min_size=1, max_size=3)
    compared = st.fixed_dictionaries({}, optional=dict.fromkeys(("gte", "gt", "lte", "lt"), value))
    both = st.fixed_dictionaries({}, optional={"not": some})
    named = st.tuples(compared, both).map(lambda each: each[0] | each[1]).filter(bool)
    return (
        kind,
        draw(st.lists(st.none() | value, max_size=8)),
        draw(some if kind == "boolean" else some | named),
    )


@given(cases())
def test_row_filter_passes_same_values_as_reference(case: tuple[str, list[Any], Any]) -> None:
    kind, values, condition = case
    found = column_filter(Column("c", kind, ""), condition).passes(
        pa.chunked_array([pa.array(values, arrow_type(kind))])
    )
    assert found.to_pylist() == [passes(value, condition) for value in values]


@pytest.mark.parametrize("condition", [["a"], {"not": ["a"]}, {"gte": ""}, {"not": ["a", None]}])
def test_null_passes_row_filter_only_if_listed(condition: Any) -> None:
    values = pa.chunked_array([pa.array([None], pa.string())])
    assert column_filter(Column("c", "string", ""), condition).passes(values).to_pylist() == [False]
    assert column_filter(Column("c", "string", ""), ["a", None]).passes(values).to_pylist() == [True]


def test_date_in_row_filter_is_midnight_utc() -> None:
    midnight = datetime(2026, 3, 1, tzinfo=timezone.utc)
    values = [midnight - timedelta(microseconds=1), midnight]
    column = pa.chunked_array([pa.array(values, arrow_type("timestamp"))])
    in_another_zone = midnight.astimezone(timezone(timedelta(hours=1)))
    for written in (date(2026, 3, 1), midnight.replace(tzinfo=None), midnight, in_another_zone):
        found = column_filter(Column("c", "timestamp", ""), {"gte": written}).passes(column)
        assert found.to_pylist() == [False, True]


def test_row_filter_compares_decimals_exactly() -> None:
    column = pa.chunked_array([pa.array([Decimal("0.1000"), Decimal("0.1001")], arrow_type("decimal(18,4)"))])
    assert column_filter(Column("c", "decimal(18,4)", ""), {"lte": 0.1}).passes(column).to_pylist() == [
        True,
        False,
    ]


def test_nan_passes_no_comparison() -> None:
    column = pa.chunked_array([pa.array([math.nan], pa.float64())])
    for name in ("gte", "gt", "lte", "lt"):
        assert column_filter(Column("c", "double", ""), {name: 0.0}).passes(column).to_pylist() == [False]
