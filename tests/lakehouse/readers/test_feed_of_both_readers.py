"""The change feed of a table is the same in a folder and in a catalog; folding it gives the table."""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kit.catalog_server import CatalogServer
from kit.change_folding import apply_change, text_of
from lakehouse.contracts.table import Column, Table
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderTables
from lakehouse.readers.versioned_tables import VersionedTables

CREDITS = Table(
    name="gold.credits",
    grain="credit",
    key=("conversion_id", "position"),
    columns=(
        Column("conversion_id", "string", "first part of the key"),
        Column("position", "int", "second part"),
        Column("seen_at", "timestamp", "event time"),
        Column("credit", "decimal(18,4)", "money"),
        Column("steps", "array<struct<at: bigint, url: string>>", "nested"),
        Column("note", "string", "a column that is added later"),
    ),
)
_EARLY = CREDITS.ddl.rpartition(",")[0]
_NEW = """SELECT concat('c', id) AS conversion_id, CAST(id % 3 AS INT) AS position,
  timestamp_seconds(1772366400 + id) AS seen_at, CAST(id / 7 AS DECIMAL(18,4)) AS credit,
  CASE WHEN id % 2 = 0 THEN array(named_struct('at', id, 'url', 'ä')) END AS steps FROM range({}, {})"""
_MERGE = """MERGE INTO gold.credits t USING ({}) s
  ON t.conversion_id <=> s.conversion_id AND t.position <=> s.position
  WHEN MATCHED AND s.credit < 1 THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""
_LATE = (
    "SELECT conversion_id, position, seen_at, CAST(credit + {} AS DECIMAL(18,4)) AS credit, steps FROM ({})"
)
SERIES = (
    f"INSERT INTO gold.credits {_NEW.format(0, 40)}",
    _MERGE.format(_NEW.format(5, 60)),  # most rows as they are
    _MERGE.format(_LATE.format(2, _NEW.format(3, 9))),  # late events
    f"INSERT INTO gold.credits {_NEW.format(60, 70)}",
    "OPTIMIZE gold.credits",
    "DELETE FROM gold.credits WHERE position = 1 AND credit > 4",
    "ALTER TABLE gold.credits ADD COLUMNS (note STRING)",
    f"INSERT OVERWRITE gold.credits SELECT *, 'rebuilt' FROM ({_NEW.format(10, 50)})",  # a rebuild
    "UPDATE gold.credits SET note = NULL WHERE conversion_id = 'c20'",
    "UPDATE gold.credits SET note = note",  # changes nothing
)


@pytest.fixture(scope="module")
def folder(catalog: CatalogServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a table of the catalog with a version for each statement."""
    warehouse = tmp_path_factory.mktemp("feed")
    catalog.run("DROP DATABASE IF EXISTS gold CASCADE")
    catalog.run(f"CREATE DATABASE gold LOCATION '{warehouse / 'gold'}'")
    catalog.run(
        f"CREATE TABLE gold.credits ({_EARLY}) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    for statement in SERIES:
        catalog.run(statement)
    return warehouse


@pytest.fixture(params=["folder", pytest.param("catalog", marks=pytest.mark.long)])
def tables(request: pytest.FixtureRequest, catalog: CatalogServer, folder: Path) -> VersionedTables:
    return FolderTables(folder) if request.param == "folder" else catalog.tables()


@cache
def published(catalog: CatalogServer, version: int) -> Counter[str]:
    """The rows of a version, as Spark reads them."""
    rows = catalog.query(f"SELECT * FROM gold.credits VERSION AS OF {version}").to_pylist()
    return Counter(text_of({"note": None, **row}) for row in rows)


def bag(rows: pa.Table) -> Counter[str]:
    return Counter(map(text_of, rows.to_pylist()))


def test_fold_of_the_feed_equals_the_table_at_every_version(
    catalog: CatalogServer, tables: VersionedTables
) -> None:
    latest = tables.latest_version(CREDITS.name)
    assert latest >= len(SERIES)
    state = bag(pa.concat_tables(tables.rows(CREDITS, 0)))
    for version in range(1, latest + 1):
        changes = tables.changes(CREDITS, version).to_pylist()
        for change in changes:
            assert change["commit_version"] == version
            apply_change(state, change)
        assert state == published(catalog, version), version
    assert state == bag(pa.concat_tables(tables.rows(CREDITS, latest)))


def test_feeds_of_folder_and_catalog_are_equal(catalog: CatalogServer, folder: Path) -> None:
    of_folder, of_catalog = FolderTables(folder), catalog.tables()
    assert of_folder.table_id(CREDITS.name) == of_catalog.table_id(CREDITS.name) != ""
    for version in range(1, of_catalog.latest_version(CREDITS.name) + 1):
        assert ordered(of_catalog.changes(CREDITS, version)) == ordered(of_folder.changes(CREDITS, version))


def ordered(changes: pa.Table) -> list[dict[str, Any]]:
    """The changes in some order, without the commit's time: a history has that of the log's file."""
    rows = changes.drop_columns(["commit_timestamp"]).to_pylist()
    return sorted(rows, key=lambda change: repr((change["before"], change["after"])))


def test_versions_follow_commits_and_a_recreated_table_is_noticed(catalog: CatalogServer) -> None:
    tables, name = catalog.tables(), "gold.again"
    assert (tables.latest_version(name), tables.table_id(name), tables.written_at(name, 0)) == (-1, "", 0)
    catalog.run("CREATE TABLE gold.again (n INT) USING delta")
    assert tables.latest_version(name) == 0
    known, written = tables.table_id(name), tables.written_at(name, 0)
    catalog.run("INSERT INTO gold.again VALUES (1)")
    assert (tables.latest_version(name), tables.table_id(name)) == (1, known)
    assert tables.written_at(name, 1) > tables.written_at(name, 0) == written
    catalog.run("DROP TABLE gold.again")
    assert (tables.latest_version(name), tables.table_id(name)) == (-1, "")
    catalog.run("CREATE TABLE gold.again (n INT) USING delta")
    assert tables.latest_version(name) == 0
    assert tables.written_at(name, 0) != written
    assert tables.table_id(name) not in ("", known)


def test_vacuum_ends_the_feed_before_it_with_advice(catalog: CatalogServer, folder: Path) -> None:
    del folder
    before = catalog.tables().latest_version(CREDITS.name)
    catalog.run("VACUUM gold.credits RETAIN 0 HOURS")
    catalog.run(_MERGE.format(f"SELECT *, 'after' AS note FROM ({_NEW.format(30, 33)})"))
    tables = catalog.tables()
    latest = tables.latest_version(CREDITS.name)
    state = Counter(published(catalog, latest - 1))
    for change in tables.changes(CREDITS, latest).to_pylist():
        apply_change(state, change)
    assert state == published(catalog, latest)
    with pytest.raises(MillraceError, match=r"version 3 of gold\.credits can't be read.*snapshot"):
        tables.changes(CREDITS, 3)
    assert latest > before


@pytest.mark.long
def test_changes_before_the_feed_was_set_cannot_be_read(catalog: CatalogServer) -> None:
    catalog.run("CREATE TABLE gold.late (conversion_id STRING, position INT) USING delta")
    catalog.run("INSERT INTO gold.late VALUES ('a', 1)")
    catalog.run("ALTER TABLE gold.late SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    catalog.run("INSERT INTO gold.late VALUES ('b', 1)")
    table, tables = Table("gold.late", "row", (), CREDITS.columns[:2]), catalog.tables()
    assert tables.changes(table, 3)["after"].to_pylist() == [{"conversion_id": "b", "position": 1}]
    with pytest.raises(MillraceError, match=r"version 1 of gold\.late can't be read.*snapshot"):
        tables.changes(table, 1)
