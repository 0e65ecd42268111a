"""Tables of a SQL engine. Queries become SQL text; values are passed as parameters."""

import json
from typing import Any

import polars as pl
from schema import COLUMNS, CORRECTIONS

from lakehouse.contracts import TABLES
from lakehouse.readers.catalog_sql import Execute
from tables.backend import ReadError, high_water_mark
from tables.query import Facts, Measure, Query, Version

_COMMITS = 100  # of a table's history that are read at first
_LISTED = 100  # values with a parameter each; of more, all are one parameter


class SqlTables:
    """Tables in a catalog of Spark or a Databricks workspace.

    Args:
        execute: runs a statement.
        catalog: the catalog of the layers; empty for the current catalog of the Spark session.
    """

    def __init__(self, execute: Execute, catalog: str = "") -> None:
        self._execute = execute
        self._catalog = catalog

    def version(self, table: str, position: int | None = None) -> Version | None:
        """The last version before the first commit beyond a position, from the table's history."""
        if table == CORRECTIONS:
            return None
        try:
            history = self._history(table, 1) if position is None else self._history_to(table, position)
        except LookupError:
            return None
        marks = [high_water_mark(each) or 0 for each in history["userMetadata"]]
        beyond = [place for place, mark in enumerate(marks) if position is not None and mark > position]
        place = min(max(beyond, default=-1) + 1, len(marks) - 1)
        return Version(history["version"][place], str(history["timestamp"][place]))

    def position(self, table: str, version: Version) -> int | None:
        """The ingest stamp that a version is done up to."""
        history = self._history(table, _COMMITS).filter(pl.col("version") <= version.number)
        marks = map(high_water_mark, history["userMetadata"])
        return next((mark for mark in marks if mark is not None), None)

    def marks(self, table: str, position: int) -> list[tuple[int, int]]:
        """High-water marks of the latest commits, and when they were written."""
        try:
            history = self._history(table, _COMMITS)
        except LookupError:
            return []
        written = history["timestamp"].dt.epoch("us")
        marks = zip(map(high_water_mark, history["userMetadata"]), written, strict=True)
        return [(mark, at) for mark, at in marks if mark is not None and mark >= position]

    def _history_to(self, table: str, position: int) -> pl.DataFrame:
        """The latest commits, with all that were written since a position: only these may be beyond it."""
        commits = _COMMITS
        while True:
            history = self._history(table, commits)
            if history.height < commits or history["timestamp"].dt.epoch("us")[-1] < position:
                return history
            commits *= 10

    def _history(self, table: str, commits: int) -> pl.DataFrame:
        """The latest commits, the latest first."""
        found = self._run(f"DESCRIBE HISTORY {self._name(table)} LIMIT {commits:d}", {}, table)
        return found.sort("version", descending=True)

    def run(self, query: Query, version: Version) -> pl.DataFrame:
        """Run a query. The engine pushes columns and conditions down."""
        source = f"{self._name(query.table)} VERSION AS OF {version.number}"
        text, values = statement(query, source)
        try:
            return self._run(text, values, query.table)
        except ReadError:
            if not (missing := self._missing(query.table, source)):
                raise
        nulls = ", ".join(f"CAST(NULL AS {kind}) AS {_quoted(name)}" for name, kind in missing.items())
        text, values = statement(query, f"(SELECT *, {nulls} FROM {source})")
        return self._run(text, values, query.table)

    def facts(self, table: str, version: Version) -> Facts:
        """Files and bytes from `DESCRIBE DETAIL`. Rows are counted from the table's statistics."""
        found = self._run(f"DESCRIBE DETAIL {self._name(table)}", {}, table).row(0, named=True)
        rows = self.run(Query(table, measures=(Measure("rows", "count"),)), version)["rows"][0]
        return Facts(rows, found["numFiles"], found["sizeInBytes"], found["lastModified"])

    def _missing(self, table: str, source: str) -> dict[str, str]:
        """Columns of the contract that an older table lacks, with their SQL types."""
        there = self._run(f"SELECT * FROM {source} LIMIT 0", {}, table).columns
        read = COLUMNS.get(table, {}).keys() - set(there)
        return {each.name: each.type.upper() for each in TABLES[table].columns if each.name in read}

    def _name(self, table: str) -> str:
        parts = [self._catalog, *table.split(".")] if self._catalog else table.split(".")
        return ".".join(map(_quoted, parts))

    def _run(self, text: str, values: dict[str, Any], table: str) -> pl.DataFrame:
        try:
            return pl.DataFrame(pl.from_arrow(self._execute(text, values)))
        except LookupError:
            raise
        except Exception as error:  # drivers raise many types; the page falls back to cached results
            raise ReadError(table) from error


def statement(query: Query, source: str) -> tuple[str, dict[str, Any]]:
    """A query as a Spark SQL statement and its parameters. The text contains no values."""
    values: dict[str, Any] = {}
    shown = [*map(_quoted, query.columns), *(_measure(query.table, each) for each in query.measures)]
    parts = [f"SELECT {', '.join(shown)} FROM {source}"]
    if query.where:
        parts.append("WHERE " + " AND ".join(_condition(each, values) for each in query.where))
    if query.columns and query.measures:
        parts.append("GROUP BY " + ", ".join(map(_quoted, query.columns)))
    if query.order:
        parts.append("ORDER BY " + ", ".join(map(_ordered, query.order)))
    if query.limit is not None:
        parts.append(f"LIMIT {query.limit:d}")
    return " ".join(parts), values


def _condition(where: Any, values: dict[str, Any]) -> str:
    column = _quoted(where.column)
    if where.op in ("null", "not null"):
        return f"{column} IS {where.op.upper()}"
    if where.op == "in" and len(where.value) <= _LISTED:
        return f"{column} IN ({', '.join(_bound(each, values) for each in where.value) or 'NULL'})"
    if where.op in ("in", "not in"):  # one parameter for any number of values
        listed = _bound(json.dumps(where.value), values)
        contains = f"array_contains(from_json({listed}, 'array<string>'), {column})"
        return contains if where.op == "in" else f"NOT {contains}"
    if where.op == "starts":
        return f"startswith({column}, {_bound(where.value, values)})"
    if where.op == "matches":
        return f"{column} RLIKE {_bound(where.value, values)}"
    return f"{column} {where.op} {_bound(where.value, values)}"


def _bound(value: Any, values: dict[str, Any]) -> str:
    name = f"p{len(values)}"
    values[name] = value
    return f":{name}"


def _measure(table: str, measure: Measure) -> str:
    column, name = _quoted(measure.column), _quoted(measure.name)
    if measure.how == "count":
        return f"count(*) AS {name}"
    if measure.how == "distinct":
        return f"count(DISTINCT {column}) AS {name}"
    if measure.how in ("min", "max"):
        return f"{measure.how}({column}) AS {name}"
    is_money = isinstance(COLUMNS[table][measure.column], pl.Decimal)
    total = f"coalesce(sum({column}), 0)"
    return f"CAST({total} AS DECIMAL(38, 4)) AS {name}" if is_money else f"{total} AS {name}"


def _ordered(name: str) -> str:
    return f"{_quoted(name.removeprefix('-'))} {'DESC' if name.startswith('-') else 'ASC'} NULLS LAST"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
