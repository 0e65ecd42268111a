"""Statements on a catalog that fail."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.errors import MillraceError
from lakehouse.readers.catalog_sql import CatalogSql

STATEMENT = "CREATE OR REPLACE FUNCTION main.ops.millrace_hash(value STRING) RETURNS STRING RETURN X'5ec7e7'"


class FailingWarehouse:
    """A warehouse whose statements fail."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, text: str, values: dict[str, Any]) -> pa.Table:
        raise self._error

    def parts(self, text: str, values: dict[str, Any]) -> Iterator[pa.Table]:
        raise self._error


@pytest.mark.parametrize(
    ("error", "reason"),
    [(LookupError(STATEMENT), "does not exist"), (RuntimeError("no right\n" + STATEMENT), "no right")],
)
def test_error_of_a_statement_does_not_have_the_key_in_it(error: Exception, reason: str) -> None:
    with pytest.raises(MillraceError, match=f"millrace_hash.*fails: .*{reason}") as found:
        CatalogSql(FailingWarehouse(error), "main").execute(STATEMENT)
    assert "5ec7e7" not in str(found.value)
