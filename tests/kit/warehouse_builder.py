"""Delta tables made from the contracts, without Spark, for whatever reads them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from deltalake import write_deltalake

from lakehouse.contracts import TABLES

Row = Mapping[str, Any]

_SQL_PIECE = "at: bigint, is_click: boolean, event_id: string"
_PIECE = {"at": pl.Int64, "is_click": pl.Boolean, "event_id": pl.String}
_SEARCH_PIECE = {**_PIECE, "query": pl.String, "product_id": pl.String}
POLARS_TYPES: dict[str, Any] = {
    "string": pl.String,
    "int": pl.Int32,
    "bigint": pl.Int64,
    "double": pl.Float64,
    "boolean": pl.Boolean,
    "binary": pl.Binary,
    "timestamp": pl.Datetime("us", "UTC"),
    "decimal(18,4)": pl.Decimal(18, 4),
    f"array<struct<{_SQL_PIECE}>>": pl.List(pl.Struct(_PIECE)),
    f"array<struct<{_SQL_PIECE}, query: string, product_id: string>>": pl.List(pl.Struct(_SEARCH_PIECE)),
    "decimal(19,10)": pl.Decimal(19, 10),
    "array<string>": pl.List(pl.String),
    "array<struct<key: string, value: binary>>": pl.List(pl.Struct({"key": pl.String, "value": pl.Binary})),
}


def schema_of(name: str) -> dict[str, Any]:
    """A table's columns with their polars types, in the order of its contract."""
    return {column.name: POLARS_TYPES[column.type] for column in TABLES[name].columns}


def append_rows(home: Path, name: str, rows: Iterable[Row]) -> None:
    """Add rows to a table under a home, in one commit. Columns that a row lacks are null."""
    _write(home, name, rows, "append")


def replace_rows(home: Path, name: str, rows: Iterable[Row]) -> None:
    """Make these the table's rows, in one commit."""
    _write(home, name, rows, "overwrite")


def build_warehouse(home: Path, tables: Mapping[str, Iterable[Row]]) -> None:
    """Add rows to several tables."""
    for name, rows in tables.items():
        append_rows(home, name, rows)


def _write(home: Path, name: str, rows: Iterable[Row], mode: Any) -> None:
    schema = schema_of(name)
    frame = pl.DataFrame([{column: row.get(column) for column in schema} for row in rows], schema=schema)
    path = home.joinpath("warehouse", *name.split("."))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_deltalake(path, frame, mode=mode, partition_by=list(TABLES[name].partitioned_by) or None)
