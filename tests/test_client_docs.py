"""The examples of docs/client.md run unchanged except for the server's port."""

import datetime as dt
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from kit.api_process import ApiProcess, api_process
from kit.home import ROOT
from kit.polling import eventually
from kit.postgres import running_postgres
from kit.warehouse_builder import append_rows, replace_rows

EXAMPLES = re.findall(
    r"^```python\n(.*?)^```",
    (ROOT / "docs" / "client.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)
DAY = dt.date(2026, 11, 2)
ROWS = [{"day": DAY, "step": "visit", "visitors": 5}, {"day": DAY, "step": "order", "visitors": 1}]
CHANGED_ROWS = [{"day": DAY, "step": "visit", "visitors": 8}]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    home = tmp_path_factory.mktemp("docs") / "home"
    home.mkdir()
    append_rows(home, "gold.funnel", ROWS)
    with api_process(home) as node:
        yield node


@contextmanager
def _running(example: str, node: ApiProcess, folder: Path, **env: str) -> Iterator[Path]:
    """Run an example until the block ends. Yields the file with its output."""
    replace_rows(node.home, "gold.funnel", ROWS)
    program, output = folder / "example.py", folder / "output"
    program.write_text(example.replace("8789", str(node.port)))
    with output.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-u", program],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **env},
            stdout=out,
            stderr=out,
        )
    try:
        yield output
        assert process.poll() is None, output.read_text()
    finally:
        process.kill()
        process.wait()


def _query_sqlite(folder: Path, query: str) -> list[tuple[object, ...]]:
    try:
        with closing(sqlite3.connect(folder / "shop.db")) as database:
            return database.execute(query).fetchall()
    except sqlite3.OperationalError:  # the table does not exist yet
        return []


def test_docs_contain_exactly_the_tested_examples() -> None:
    kinds = [
        re.findall(r"SqliteStore\(.*TableMirror|PostgresStore\(|def apply|follow\(", text)
        for text in EXAMPLES
    ]
    assert [found[0].partition("(")[0] for found in kinds] == [
        "SqliteStore",
        "PostgresStore",
        "def apply",
        "follow",
    ]


@pytest.mark.parametrize(
    ("example", "query"),
    [
        (0, "SELECT step, visitors FROM funnel ORDER BY step"),
        (2, "SELECT step, visitors FROM totals WHERE visitors <> 0 ORDER BY step"),
    ],
)
def test_sqlite_mirror_and_totals_follow_table_changes(
    example: int, query: str, node: ApiProcess, tmp_path: Path
) -> None:
    with _running(EXAMPLES[example], node, tmp_path) as output:
        eventually(
            lambda: _query_sqlite(tmp_path, query) == [("order", 1), ("visit", 5)], what=output.read_text()
        )
        replace_rows(node.home, "gold.funnel", CHANGED_ROWS)
        eventually(lambda: _query_sqlite(tmp_path, query) == [("visit", 8)], what=output.read_text())


def test_postgres_mirror_follows_table_changes(node: ApiProcess, tmp_path: Path) -> None:
    query = "SELECT day, step, visitors FROM funnel ORDER BY step"
    with running_postgres() as dsn:
        place = dict(part.split("=") for part in dsn.split())
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("CREATE DATABASE shop")
        env = {"PGHOST": place["host"], "PGPORT": place["port"], "PGUSER": place["user"]}

        def found() -> list[tuple[object, ...]]:
            with psycopg.connect(dsn.replace("dbname=postgres", "dbname=shop")) as shop:
                try:
                    return shop.execute(query).fetchall()
                except psycopg.errors.UndefinedTable:
                    return []

        with _running(EXAMPLES[1], node, tmp_path, **env) as output:
            eventually(lambda: found() == [(DAY, "order", 1), (DAY, "visit", 5)], what=output.read_text())
            replace_rows(node.home, "gold.funnel", CHANGED_ROWS)
            eventually(lambda: found() == [(DAY, "visit", 8)], what=output.read_text())


def test_follow_example_prints_rows_and_changes(node: ApiProcess, tmp_path: Path) -> None:
    with _running(EXAMPLES[3], node, tmp_path) as output:
        eventually(lambda: "'visitors': 5" in output.read_text(), what="all rows")
        replace_rows(node.home, "gold.funnel", CHANGED_ROWS)
        eventually(lambda: "'visitors': 8" in output.read_text(), what="a change")
