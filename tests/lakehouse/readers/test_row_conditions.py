"""Conditions find the same rows in files and by SQL."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError

from kit.catalog_server import CatalogServer
from lakehouse.readers.folder_tables import FolderTables
from lakehouse.readers.row_conditions import AtMost, Condition, IsIn, NotNull, TimeWithin
from lakehouse.readers.versioned_tables import VersionedTables

TEXTS = ["a", "it's \\ a 'quote'", "ä\n", None, "", "é"]
ROWS = pa.table(
    {
        "number": pa.array(range(len(TEXTS)), pa.int64()),
        "text": pa.array(TEXTS, pa.string()),
        "at": pa.array([10, 11, 12, 13, 14, None], pa.timestamp("us", tz="UTC")),
    }
)
CASES: list[tuple[tuple[Condition, ...], list[int]]] = [
    ((), [0, 1, 2, 3, 4, 5]),
    ((AtMost("number", 2),), [0, 1, 2]),
    ((AtMost("number", 4, after=2),), [3, 4]),
    ((NotNull("text"),), [0, 1, 2, 4, 5]),
    ((IsIn("text", []),), []),
    ((IsIn("text", [text for text in TEXTS if text is not None]),), [0, 1, 2, 4, 5]),
    ((IsIn("text", ["it's \\ a 'quote'"]),), [1]),
    ((TimeWithin("at", []),), []),
    ((TimeWithin("at", [(10, 11), (13, 20)]),), [1, 4]),
    ((TimeWithin("at", [(0, 12)]), IsIn("text", ["a", "é", "ä\n"])), [0, 2]),
]


@pytest.fixture(scope="module", params=["folder", pytest.param("catalog", marks=pytest.mark.long)])
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> VersionedTables:
    home = tmp_path_factory.mktemp("home")
    write_deltalake(home / "warehouse" / "gold" / "touches", ROWS)
    if request.param == "folder":
        return FolderTables(home / "warehouse")
    server: CatalogServer = request.getfixturevalue("catalog")
    server.register(home)
    return server.tables()


@pytest.mark.parametrize("version", [None, 0])
@pytest.mark.parametrize(("conditions", "expected"), CASES)
def test_rows_satisfy_all_conditions(
    tables: VersionedTables, conditions: tuple[Condition, ...], expected: list[int], version: int | None
) -> None:
    found = tables.find("gold.touches", ["number"], conditions, version)
    assert sorted(found["number"].to_pylist()) == expected


def test_missing_table_is_a_lookup_error(tables: VersionedTables) -> None:
    with pytest.raises(LookupError):
        tables.find("gold.none", ["number"])


def test_missing_version_is_an_error(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "gold" / "touches", ROWS)
    with pytest.raises(DeltaError):
        FolderTables(tmp_path).find("gold.touches", ["number"], version=3)
