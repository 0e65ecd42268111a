"""Continuous queries over tables in a folder, without a server process."""

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kit.cursors import changes_of, query_cursor, table_cursor
from kit.live_table import NAME as LIVE
from kit.live_table import LiveTable
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.errors import MillraceError
from lakehouse.readers.folder_tables import FolderTables
from lakehouse.rows.row_json import row_json
from lakehouse.settings import load_settings
from millrace.tables.duckdb_views import run_query
from serving.admission import StandingText, admit
from serving.sources.query_result import compute
from serving.sources.query_source import QuerySource

NAME = "gold.attribution"
JOIN = """SELECT goal, channel, sum(credit) AS credit FROM gold.attribution
JOIN gold.conversions USING (conversion_id) GROUP BY ALL ORDER BY ALL"""


def credit(number: int, channel: str = "Email") -> dict[str, Any]:
    return {"conversion_id": f"c{number}", "model": "last", "position": 1, "channel": channel, "credit": 0.1}


def goal(number: int) -> dict[str, Any]:
    return {"conversion_id": f"c{number}", "goal": "Order Completed", "is_final": True}


def test_join_is_computed_once_all_its_tables_exist(tmp_path: Path) -> None:
    query = query_cursor(tmp_path, JOIN)
    append_rows(tmp_path, NAME, [credit(1), credit(2)])
    assert list(query.poll()) == []
    append_rows(tmp_path, "gold.conversions", [goal(1)])
    (group,) = query.poll()
    assert group.position == {NAME: 0, "gold.conversions": 0}
    assert list(query.poll()) == []
    append_rows(tmp_path, "gold.conversions", [goal(2)])
    append_rows(tmp_path, NAME, [credit(3)])
    (group,) = query.poll()
    assert group.position == {NAME: 1, "gold.conversions": 1}
    found = [change["after"] for change in changes_of(query_cursor(tmp_path, JOIN))]
    assert found == run_query(load_settings(home=tmp_path), JOIN).to_dicts()


def test_query_with_duplicate_column_names_is_rejected(tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(1)])
    query = admit(f"SELECT model AS a, channel AS a FROM {NAME}")
    with pytest.raises(MillraceError, match="two columns of the query have one name"):
        compute(FolderTables(tmp_path / "warehouse"), query, {NAME: 0})


@pytest.mark.parametrize("reading", ["read_text('{0}')", "read_csv('{0}')", "'{0}'"])
def test_query_that_bypasses_admission_reads_no_other_file(reading: str, tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(1)])
    other = tmp_path / "other.csv"
    other.write_text("a\n1\n")
    past = StandingText(f"SELECT * FROM {reading.format(other)}", (NAME,), None)
    with pytest.raises(MillraceError, match=r"(?i)disabled by configuration|permission"):
        compute(FolderTables(tmp_path / "warehouse"), past, {NAME: 0})


def test_query_at_vacuumed_version_fails_and_advises_a_snapshot(tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(1)])
    replace_rows(tmp_path, NAME, [credit(2)])
    folder = tmp_path.joinpath("warehouse", *NAME.split("."))
    DeltaTable(folder).vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(MillraceError, match=r"can't be computed at versions gold\.attribution 0.*snapshot"):
        changes_of(query_cursor(tmp_path, f"SELECT * FROM {NAME}", {NAME: 0}))


def test_table_with_fewer_versions_than_position_counts_as_recreated(tmp_path: Path) -> None:
    append_rows(tmp_path, NAME, [credit(1)])
    cursor = table_cursor(tmp_path, NAME, 7)
    with pytest.raises(MillraceError, match=r"no version 7: it was made again"):
        changes_of(cursor)


def test_query_cursor_fails_once_its_table_is_recreated(tmp_path: Path) -> None:
    """The query's source returns the new table's rows at a version that both tables have."""
    append_rows(tmp_path, NAME, [credit(1)])
    query, folder = f"SELECT channel FROM {NAME}", tmp_path.joinpath("warehouse", *NAME.split("."))
    cursor, source = (
        query_cursor(tmp_path, query),
        QuerySource(FolderTables(tmp_path / "warehouse"), admit(query)),
    )
    assert len(changes_of(cursor)) == 1
    shutil.rmtree(folder)
    append_rows(tmp_path, NAME, [credit(1, "Direct")])
    assert list(source.rows({NAME: 0}).lines()) == [b'{"channel":"Direct"}']
    append_rows(tmp_path, NAME, [credit(2)])
    with pytest.raises(MillraceError, match="made again"):
        changes_of(cursor)


def test_poll_reads_no_data_files_while_nothing_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_rows(tmp_path, NAME, [credit(1)])
    cursors = table_cursor(tmp_path, NAME), query_cursor(tmp_path, f"SELECT * FROM {NAME}")
    for cursor in cursors:
        assert len(changes_of(cursor)) == 1
    folder = tmp_path.joinpath("warehouse", *NAME.split("."))
    for file in folder.glob("*.parquet"):
        file.unlink()
    assert [list(cursor.poll()) for cursor in cursors] == [[], []]


QUERIES = {
    "filter": f"SELECT touch_id, channel FROM {LIVE} WHERE channel IS NOT NULL AND url LIKE '%/1%'",
    "group by": f"SELECT channel, count(*) AS n, max(touched_at) AS at FROM {LIVE} GROUP BY channel",
    "window": f"SELECT date_trunc('hour', touched_at) AS at, count(*) AS n FROM {LIVE} GROUP BY 1",
    "rank": f"SELECT touch_id, rank() OVER (ORDER BY touched_at, touch_id) AS place FROM {LIVE}",
    "join": f"SELECT model, count(*) AS n FROM {LIVE} JOIN {NAME} USING (channel) GROUP BY ALL",
}


def duckdb_at(home: Path, query: str, versions: Mapping[str, int]) -> Counter[bytes]:
    """The result that DuckDB computes from the tables as deltalake reads them."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for name, version in versions.items():
        table = DeltaTable(home / "warehouse" / name.replace(".", "/"), version=version).to_pyarrow_table()
        plain = {field.name: table[field.name] for field in table.schema}
        for field in table.schema:
            if pa.types.is_timestamp(field.type):  # the query sees plain times in UTC
                plain[field.name] = table[field.name].cast(pa.timestamp("us"))
        connection.register(name.replace(".", "_"), pa.table(plain))
        query = query.replace(name, name.replace(".", "_"))
    return Counter(map(row_json, connection.sql(query).to_arrow_table().to_pylist()))


@pytest.mark.parametrize(
    ("kind", "versions"),
    [
        *(("group by", 16), ("join", 16)),
        *(pytest.param(kind, 50, marks=pytest.mark.long) for kind in QUERIES),
    ],
)
def test_folded_query_changes_equal_duckdb_result_at_each_version(
    tmp_path: Path, kind: str, versions: int
) -> None:
    """This includes readers that stop after a group and resume from its position."""
    table, query = LiveTable(tmp_path, rows=100), QUERIES[kind]
    append_rows(tmp_path, NAME, [credit(1), credit(2, "Direct"), credit(3)])
    cursor, state = query_cursor(tmp_path, query), Counter[bytes]()
    for number in range(versions):
        for group in cursor.poll():
            for change in group.rows:
                state.subtract([change.before] if change.before else [])
                state.update([change.after] if change.after else [])
            assert min(state.values()) >= 0
        assert +state == duckdb_at(tmp_path, query, cursor.position)
        if number % 7 == 3:
            cursor = query_cursor(tmp_path, query, cursor.position)
        table.commit()
