"""Statements on a catalog that fail."""

from typing import Any

import pyarrow as pa
import pytest

from lakehouse.errors import MillraceError
from lakehouse.readers.catalog_sql import CatalogSql

STATEMENT = "CREATE OR REPLACE FUNCTION main.ops.millrace_hash(value STRING) RETURNS STRING RETURN X'5ec7e7'"


@pytest.mark.parametrize(
    ("error", "reason"),
    [(LookupError(STATEMENT), "does not exist"), (RuntimeError("no right\n" + STATEMENT), "no right")],
)
def test_error_of_a_statement_does_not_have_the_key_in_it(error: Exception, reason: str) -> None:
    def fails(_: str, __: dict[str, Any]) -> pa.Table:
        raise error

    with pytest.raises(MillraceError, match=f"millrace_hash.*fails: .*{reason}") as found:
        CatalogSql(fails, "main").execute(STATEMENT)
    assert "5ec7e7" not in str(found.value)
