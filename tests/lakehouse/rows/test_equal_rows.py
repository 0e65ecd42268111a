"""Rows that two tables have in common, against sets of Python rows."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.rows.equal_rows import without_equal


def _sorted(row: dict[str, Any]) -> list[Any]:
    return sorted((key, _sorted(value) if isinstance(value, dict) else value) for key, value in row.items())


VISIT = pa.struct([pa.field("session_id", pa.string()), pa.field("at", pa.int64())])
SCHEMA = pa.schema(
    [
        pa.field("key", pa.string()),
        pa.field("value", pa.decimal128(18, 4)),
        pa.field("credit", pa.float64()),
        pa.field("is_final", pa.bool_()),
        pa.field("visit", VISIT),
    ]
)
VISITS = st.none() | st.fixed_dictionaries(
    {"session_id": st.sampled_from([None, "s1"]), "at": st.sampled_from([None, 5])}
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["a", "b", None]),
            "value": st.sampled_from([None, Decimal("1.0000"), Decimal("1.0001")]),
            "credit": st.sampled_from([0.5, 1 / 3]),
            "is_final": st.sampled_from([None, False, True]),
            "visit": VISITS,
        }
    ),
    max_size=12,
    unique_by=lambda row: repr(_sorted(row)),
)


TABLES = ROWS.map(lambda rows: pa.Table.from_pylist(rows, SCHEMA))


@given(TABLES, TABLES)
def test_rows_in_both_tables_are_left_out(old: pa.Table, new: pa.Table) -> None:
    before, after = without_equal(old, new)
    assert _rows(before) == _rows(old) - _rows(new)
    assert _rows(after) == _rows(new) - _rows(old)


def _rows(table: pa.Table) -> set[str]:
    rows = {repr(row) for row in table.to_pylist()}
    assert len(rows) == table.num_rows
    return rows
