"""Runs queries on polars frames: for the local backend, and for tables that do not exist."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import polars as pl
from schema import COLUMNS, Type

from tables.query import Measure, Op, Query, Where

_MONEY = pl.Decimal(38, 4)
_CONDITIONS: dict[Op, Callable[[pl.Expr, Any], pl.Expr]] = {
    "=": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
    "in": lambda column, values: column.is_in(list(values)),
    "not in": lambda column, values: ~column.is_in(list(values)),
    "starts": lambda column, value: column.str.starts_with(value),
    "matches": lambda column, value: column.str.contains(value),
    "null": lambda column, _: column.is_null(),
    "not null": lambda column, _: column.is_not_null(),
}


def empty(table: str) -> pl.LazyFrame:
    """An empty table with the columns of its contract."""
    return pl.LazyFrame(schema=COLUMNS[table])


def with_all_columns(rows: pl.LazyFrame, table: str) -> pl.LazyFrame:
    """Add the columns of the contract that an older table lacks, as nulls."""
    there = rows.collect_schema().names()
    missing = {name: kind for name, kind in COLUMNS[table].items() if name not in there}
    return rows.with_columns(**{name: pl.lit(None, kind) for name, kind in missing.items()})


def ask_frame(frame: pl.LazyFrame, query: Query) -> pl.LazyFrame:
    """The result of a query on a frame with the table's columns."""
    kept = reduce(lambda rows, where: rows.filter(condition(where)), query.where, frame)
    if not query.measures:
        return _limited(_ordered(kept, query).select(query.columns), query)
    return _grouped(kept, query, [_measure(query.table, each) for each in query.measures])


def adds_up(query: Query) -> bool:
    """Whether the result can be computed from results over parts of the rows."""
    return bool(query.measures) and all(measure.how != "distinct" for measure in query.measures)


def add_up(parts: pl.LazyFrame, query: Query) -> pl.LazyFrame:
    """Combine partial results.

    Args:
        parts: concatenated results over disjoint parts of the rows, without order and limit.
        query: a query for which `adds_up` is true.
    """
    return _grouped(parts, query, list(map(_measure_again, query.measures)))


def condition(where: Where) -> pl.Expr:
    """A condition as a polars expression."""
    return _CONDITIONS[where.op](pl.col(where.column), where.value)


def _grouped(rows: pl.LazyFrame, query: Query, measures: list[pl.Expr]) -> pl.LazyFrame:
    answer = rows.group_by(query.columns).agg(measures) if query.columns else rows.select(measures)
    return _limited(_ordered(answer, query), query)


def _limited(rows: pl.LazyFrame, query: Query) -> pl.LazyFrame:
    return rows if query.limit is None else rows.head(query.limit)


def _ordered(rows: pl.LazyFrame, query: Query) -> pl.LazyFrame:
    if not query.order:
        return rows
    names = [name.removeprefix("-") for name in query.order]
    backwards = [name.startswith("-") for name in query.order]
    return rows.sort(names, descending=backwards, nulls_last=True)


def _measure(table: str, measure: Measure) -> pl.Expr:
    if measure.how == "count":
        return pl.len().cast(pl.Int64).alias(measure.name)
    column = pl.col(measure.column)
    if measure.how == "distinct":
        figure = column.drop_nulls().n_unique().cast(pl.Int64)
    elif measure.how == "sum":
        figure = _sum(column, COLUMNS[table][measure.column])
    else:
        figure = column.min() if measure.how == "min" else column.max()
    return figure.alias(measure.name)


def _measure_again(measure: Measure) -> pl.Expr:
    part = pl.col(measure.name)
    if measure.how in ("sum", "count"):
        return part.sum()
    return part.min() if measure.how == "min" else part.max()


def _sum(column: pl.Expr, kind: Type) -> pl.Expr:
    """A sum: money as a decimal with four decimals that can't overflow, counts as 64-bit integers."""
    if isinstance(kind, pl.Decimal):
        return column.cast(_MONEY).sum()
    return column.sum() if kind == pl.Float64 else column.sum().cast(pl.Int64)
