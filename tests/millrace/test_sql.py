"""`millrace sql` and `millrace --version`: what they print, without Spark or Java."""

import csv
import io
import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lakehouse.contracts import TABLES
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


def test_json_is_an_object_a_line() -> None:
    lines = run("sql", "SELECT * FROM range(3) AS of(number)", "--json").splitlines()
    assert [json.loads(line) for line in lines] == [{"number": number} for number in range(3)]


def test_a_pipe_gets_whole_values_however_long() -> None:
    assert "x" * 500 in run("sql", "SELECT repeat('x', 500) AS long, 1 AS short")


@pytest.mark.parametrize("query", ["SHOW TABLES", "show  all tables;"])
def test_declared_tables_are_listed_and_nothing_else(query: str) -> None:
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
def test_an_error_says_what_to_do(query: str, message: str) -> None:
    with pytest.raises(MillraceError, match=message) as error:
        run("sql", query)
    assert str(error.value).count("silver.") == 0, "not all the tables"


def test_the_version_is_printed() -> None:
    assert run("--version") == f"millrace {metadata.version('millrace')}\n"
