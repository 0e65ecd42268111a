"""Output of `millrace sql` and `millrace --version`, without Spark or Java."""

import csv
import io
import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from typer.testing import CliRunner

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))


def run(*arguments: str) -> str:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, arguments)
    if answer.exception and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    return answer.stdout


NESTED = "SELECT [1, 2] AS list, {'a': 'x', 'b': NULL} AS struct, NULL::INT[] AS none"


def test_lists_and_structs_are_json_in_csv() -> None:
    (row,) = csv.DictReader(io.StringIO(run("sql", NESTED, "--csv")))
    assert (json.loads(row["list"]), json.loads(row["struct"])) == ([1, 2], {"a": "x", "b": None})
    assert row["none"] == ""


def test_json_output_is_one_object_per_line() -> None:
    lines = run("sql", "SELECT * FROM range(3) AS of(number)", "--json").splitlines()
    assert [json.loads(line) for line in lines] == [{"number": number} for number in range(3)]


def test_piped_output_does_not_truncate_values() -> None:
    assert "x" * 500 in run("sql", "SELECT repeat('x', 500) AS long, 1 AS short")


@pytest.mark.parametrize("query", ["SHOW TABLES", "show  all tables;"])
def test_show_tables_lists_declared_tables_only(query: str) -> None:
    rows: list[dict[str, Any]] = [json.loads(line) for line in run("sql", query, "--json").splitlines()]
    assert [row["table"] for row in rows] == list(TABLES)
    assert not any(row["is_there"] for row in rows)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "the query is empty"),
        (" ; ", "the query is empty"),
        ("SELECT * FROM gold.conversion", "Is gold.conversions meant"),
        ("SELECT 1 FROM nowhere", "SHOW TABLES"),
    ],
)
def test_invalid_query_is_rejected_with_a_hint(query: str, message: str) -> None:
    with pytest.raises(MillraceError, match=message) as error:
        run("sql", query)
    assert str(error.value).count("silver.") == 0, "not all the tables"


def write(home: Path, name: str, rows: list[dict[str, Any]]) -> None:
    table = TABLES[name]
    data = pa.Table.from_pylist(rows, arrow_schema(table))
    write_deltalake(
        home / "warehouse" / name.replace(".", "/"), data, partition_by=list(table.partitioned_by)
    )


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view()], ids=str)
def test_rows_are_filtered_by_string_column(tmp_path: Path, kind: pa.DataType) -> None:
    schema = arrow_schema(TABLES["silver.bots"])
    written = pa.schema([it.with_type(kind) if it.type == pa.string() else it for it in schema])
    rows = pa.Table.from_pylist([{"visitor_id": visitor} for visitor in ("a", "b", "c")], schema)
    write_deltalake(tmp_path / "warehouse" / "silver" / "bots", rows.cast(written))
    (line,) = run("sql", "SELECT visitor_id FROM silver.bots WHERE visitor_id = 'b'", "--json").splitlines()
    assert json.loads(line) == {"visitor_id": "b"}


@pytest.mark.parametrize(
    ("condition", "expected"), [("is_open", "ac"), ("NOT is_open", "b"), ("is_open IS NULL", "d")]
)
def test_rows_are_filtered_by_partition_column(tmp_path: Path, condition: str, expected: str) -> None:
    are_open = {"a": True, "b": False, "c": True, "d": None}
    write(tmp_path, "silver.sessions", [{"session_id": id_, "is_open": it} for id_, it in are_open.items()])
    query = f"SELECT session_id FROM silver.sessions WHERE {condition} ORDER BY ALL"
    found = [json.loads(line)["session_id"] for line in run("sql", query, "--json").splitlines()]
    assert found == list(expected)


def test_columns_missing_in_files_are_null(tmp_path: Path) -> None:
    folder = tmp_path / "warehouse" / "silver" / "bots"
    write_deltalake(
        folder, pa.table({"visitor_id": ["a"], "since": pa.array([0], pa.timestamp("us", "UTC"))})
    )
    DeltaTable(folder).alter.add_columns([Field("reason", PrimitiveType("string"))])
    query = "SELECT visitor_id FROM silver.bots WHERE reason IS NULL"
    assert json.loads(run("sql", query, "--json")) == {"visitor_id": "a"}


def test_version_option_prints_package_version() -> None:
    assert run("--version") == f"millrace {metadata.version('millrace')}\n"
