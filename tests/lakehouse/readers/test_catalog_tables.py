"""Rows of tables in a catalog, from a warehouse that counts what it sends."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.contracts.table import Column, Table
from lakehouse.errors import MillraceError
from lakehouse.readers import catalog_tables
from lakehouse.readers.catalog_tables import CatalogTables

THINGS = Table("gold.things", "thing", (), (Column("id", "int", "id"), Column("name", "string", "new")))


class CountingWarehouse:
    """A warehouse of one table, whose files have the columns `id` and `other`, with three rows a part."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.sent = 0

    def __call__(self, text: str, values: dict[str, Any]) -> pa.Table:
        assert text.endswith("LIMIT 0")
        return pa.table({"id": pa.array([], pa.int64()), "other": pa.array([], pa.string())})

    def parts(self, text: str, values: dict[str, Any]) -> Iterator[pa.Table]:
        self.statements.append(text)
        for part in range(100):
            self.sent += 1
            yield pa.table({"id": [3 * part + place for place in range(3)]})


def test_rows_are_read_part_by_part_with_the_columns_that_are_wanted() -> None:
    warehouse = CountingWarehouse()
    rows = CatalogTables(warehouse, "main").rows(THINGS, 7)
    assert next(rows).num_rows == warehouse.sent == 0
    assert next(rows).to_pylist() == [{"id": place, "name": None} for place in range(3)]
    assert warehouse.sent == 1
    assert sum(part.num_rows for part in rows) == 297
    assert warehouse.statements == ["SELECT `id` FROM `main`.`gold`.`things` VERSION AS OF 7"]


def test_table_that_is_too_large_for_a_query_is_refused_while_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(catalog_tables, "MOST_ROWS", 10)
    warehouse = CountingWarehouse()
    with pytest.raises(MillraceError, match="more than 10 rows"):
        list(CatalogTables(warehouse, "main").at(THINGS.name, 7).chunks(THINGS))
    assert warehouse.sent == 4
    assert warehouse.statements[0].endswith("LIMIT 11")
