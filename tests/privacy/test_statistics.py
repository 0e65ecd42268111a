"""File statistics stay in the log of a table after its rows are erased."""

import pytest

from lakehouse.contracts import LOCKS, TABLES
from lakehouse.delta.table_properties import statistics_columns

_PERSONS = {"visitor_id", "user_id", "person_id", "customer_id"}


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if table.layer in LOCKS])
def test_file_statistics_contain_no_person(name: str) -> None:
    columns = statistics_columns(TABLES[name])
    assert columns, "else Delta's default, the first 32 columns"
    assert not _PERSONS & set(columns)
