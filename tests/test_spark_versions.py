"""The code uses nothing of Spark that came after 4.0, the oldest version of today's workspaces."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyspark.sql.functions as F
import pytest
from pyspark.sql import Column, DataFrame, DataFrameReader, DataFrameWriter, GroupedData, SparkSession, Window
from pyspark.sql.catalog import Catalog
from pyspark.sql.streaming import DataStreamReader, DataStreamWriter, StreamingQuery

ROOT = Path(__file__).resolve().parents[1]
OLDEST = (4, 0)
CLASSES = (
    Catalog, Column, DataFrame, DataFrameReader, DataFrameWriter, DataStreamReader, DataStreamWriter,
    GroupedData, SparkSession, StreamingQuery, Window,
)  # fmt: skip

# An older Spark keeps a setting that it does not know, and does nothing: these only save time.
HARMLESS = {"spark.python.sql.dataFrameDebugging.enabled"}


def came_in(reported: object) -> tuple[int, ...]:
    """The version of Spark that something came with, by its docstring."""
    found = re.search(r"versionadded:: (\d+)\.(\d+)", inspect.getdoc(reported) or "")
    return tuple(map(int, found.groups())) if found else (0, 0)


def too_new(names: set[str], of: object) -> set[str]:
    return {name for name in names if came_in(getattr(of, name, None)) > OLDEST}


@cache
def nodes() -> list[ast.AST]:
    files = sorted((ROOT / "src").rglob("*.py"))
    return [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]


@cache
def attributes(of_functions: bool) -> set[str]:
    """The attributes that the code asks for: of Spark's functions, or of anything else."""
    return {
        node.attr
        for node in nodes()
        if isinstance(node, ast.Attribute) and (getattr(node.value, "id", None) == "F") == of_functions
    }


def texts() -> Iterator[str]:
    for node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_the_check_knows_what_is_new() -> None:
    assert too_new({"theta_sketch_agg", "col", "sum"}, F) == {"theta_sketch_agg"}


def test_column_functions_are_those_of_the_oldest_version() -> None:
    used = attributes(of_functions=True)
    assert len(used) > 20
    assert too_new(used, F) == set()


@pytest.mark.parametrize("of", CLASSES, ids=lambda of: of.__name__)
def test_methods_are_those_of_the_oldest_version(of: type) -> None:
    ours = {"name"}  # of tables, jobs and files, never of a stream's source
    assert too_new(attributes(of_functions=False), of) - ours == set()


def test_settings_and_sql_functions_are_those_of_the_oldest_version(spark: SparkSession) -> None:
    since = {row.key: row["Since version"] for row in spark.sql("SET -v").collect()}
    named = {word for text in texts() for word in re.findall(r"spark\.[A-Za-z.]+[A-Za-z]", text)}
    new = {name for name in named if _after(since.get(name, ""))}
    assert new - HARMLESS == set()

    functions = {row.function for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    called = {word for text in texts() for word in re.findall(r"\b([a-z_]+)\(", text)} & functions
    assert called
    assert {name for name in called if _after(_since(spark, name))} == set()


def _after(version: str) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and tuple(map(int, numbers.groups())) > OLDEST


def _since(spark: SparkSession, name: str) -> str:
    lines = [row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect()]
    found = re.search(r"Since: ([\d.]+)", "\n".join(lines))
    return found[1] if found else ""
