"""Writes Delta tables with the schema of the contracts, without Spark."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
from deltalake import CommitProperties, write_deltalake

from lakehouse.contracts import TABLES

Row = Mapping[str, Any]

_SIMPLE: dict[str, Any] = {
    "string": pl.String,
    "int": pl.Int32,
    "bigint": pl.Int64,
    "double": pl.Float64,
    "boolean": pl.Boolean,
    "binary": pl.Binary,
    "date": pl.Date,
    "timestamp": pl.Datetime("us", "UTC"),
}


def polars_type(sql: str) -> Any:
    """The polars type of a Spark SQL type; may be nested."""
    kind, _, inside = sql.partition("<")
    if kind == "array":
        return pl.List(polars_type(inside.removesuffix(">")))
    if kind == "struct":
        fields = re.findall(r"(\w+): (\w+(?:\(.*?\)|<.*>)?)", inside.removesuffix(">"))
        return pl.Struct({name: polars_type(of) for name, of in fields})
    if kind.startswith("decimal"):
        digits, places = re.findall(r"\d+", kind)
        return pl.Decimal(int(digits), int(places))
    return _SIMPLE[kind]


@cache
def schema_of(name: str) -> Mapping[str, Any]:
    """Columns of a table with polars types, in the order of the contract."""
    return MappingProxyType({column.name: polars_type(column.type) for column in TABLES[name].columns})


def append_rows(home: Path, name: str, rows: Iterable[Row], upto: int | None = None) -> None:
    """Append rows to a table of a home in one commit. Missing columns become null.

    `upto` is the high-water mark of the commit: an ingest stamp in microseconds.
    """
    _write(home, name, rows, "append", upto)


def replace_rows(home: Path, name: str, rows: Iterable[Row]) -> None:
    """Overwrite all rows of a table in one commit."""
    _write(home, name, rows, "overwrite")


def build_warehouse(home: Path, tables: Mapping[str, Iterable[Row]]) -> None:
    """Append rows to several tables."""
    for name, rows in tables.items():
        append_rows(home, name, rows)


def _write(home: Path, name: str, rows: Iterable[Row], mode: Any, upto: int | None = None) -> None:
    schema = schema_of(name)
    reported = [{column: row.get(column) for column in schema} for row in rows]
    path = home.joinpath("warehouse", *name.split("."))
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame(reported, schema=dict(schema)).to_arrow(
        compat_level=pl.CompatLevel.oldest()
    )  # string types as in Spark's files
    said = {} if upto is None else {"userMetadata": json.dumps({"job": "publish", "upto": upto})}
    write_deltalake(
        path,
        frame,
        mode=mode,
        partition_by=list(TABLES[name].partitioned_by) or None,
        commit_properties=CommitProperties(custom_metadata=said),
    )
