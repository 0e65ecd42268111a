"""The code uses no Spark API added after 4.0, the oldest version of current workspaces."""

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

# Older versions ignore unknown settings; these affect speed only.
SETTINGS_FOR_SPEED_ONLY = {"spark.python.sql.dataFrameDebugging.enabled"}


def version_added(api: object) -> tuple[int, ...]:
    """The Spark version that added a class, method or function, according to its docstring."""
    found = re.search(r"versionadded:: (\d+)\.(\d+)", inspect.getdoc(api) or "")
    return tuple(map(int, found.groups())) if found else (0, 0)


def too_new(names: set[str], of: object) -> set[str]:
    return {name for name in names if version_added(getattr(of, name, None)) > OLDEST}


@cache
def nodes() -> list[ast.AST]:
    files = sorted((ROOT / "src").rglob("*.py"))
    return [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]


@cache
def attributes(of_functions: bool) -> set[str]:
    """The attribute names used in the code: of `F` (Spark's functions), or of anything else."""
    return {
        node.attr
        for node in nodes()
        if isinstance(node, ast.Attribute) and (getattr(node.value, "id", None) == "F") == of_functions
    }


def string_constants() -> Iterator[str]:
    for node in nodes():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_check_detects_function_added_after_oldest_version() -> None:
    assert too_new({"theta_sketch_agg", "col", "sum"}, F) == {"theta_sketch_agg"}


def test_column_functions_exist_in_oldest_version() -> None:
    used = attributes(of_functions=True)
    assert len(used) > 20
    assert too_new(used, F) == set()


@pytest.mark.parametrize("of", CLASSES, ids=lambda of: of.__name__)
def test_methods_exist_in_oldest_version(of: type) -> None:
    ours = {
        "name",
        "changes",
    }  # of tables, jobs, readers and files of our own; never used on a reader of Spark
    assert too_new(attributes(of_functions=False), of) - ours == set()


def test_settings_and_sql_functions_exist_in_oldest_version(spark: SparkSession) -> None:
    since = {row.key: row["Since version"] for row in spark.sql("SET -v").collect()}
    named = {word for text in string_constants() for word in re.findall(r"spark\.[A-Za-z.]+[A-Za-z]", text)}
    new = {name for name in named if _is_too_new(since.get(name, ""))}
    assert new - SETTINGS_FOR_SPEED_ONLY == set()

    functions = {row.function for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    called = {word for text in string_constants() for word in re.findall(r"\b([a-z_]+)\(", text)} & functions
    assert called
    assert {name for name in called if _is_too_new(_version_of_sql_function(spark, name))} == set()


def _is_too_new(version: str) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and tuple(map(int, numbers.groups())) > OLDEST


def _version_of_sql_function(spark: SparkSession, name: str) -> str:
    lines = [row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED {name}").collect()]
    found = re.search(r"Since: ([\d.]+)", "\n".join(lines))
    return found[1] if found else ""
