"""Tables as a role sees them: filtered and masked where they are read."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
from schema import COLUMNS, CORRECTIONS

from lakehouse.access.masks import Mask
from lakehouse.access.role import Role
from lakehouse.access.row_filters import ColumnFilter
from lakehouse.access.table_view import TableView
from lakehouse.contracts import TABLES
from tables.backend import Backend
from tables.polars_query import ask_frame, empty, with_all_columns
from tables.query import Facts, Op, Query, Version, Where

_COMPARISONS: dict[str, Op] = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}


class RestrictedTables:
    """The tables of another backend, as a role sees them.

    A table that is not there for the role has no rows. Versions are those of the tables, so that figures of a
    page are as of one position for every role.

    Args:
        backend: reads the tables.
        role: who sees them.
    """

    def __init__(self, backend: Backend, role: Role) -> None:
        self._backend = backend
        self._views = {name: _shown(role, name) for name in (*TABLES, CORRECTIONS)}

    @property
    def hidden(self) -> frozenset[str]:
        """Tables that are not there for the role."""
        return frozenset(name for name, view in self._views.items() if view is None)

    @property
    def masks(self) -> dict[str, Mapping[str, Mask]]:
        """By table and column, the masks of the role."""
        return {name: view.masks for name, view in self._views.items() if view is not None}

    def version(self, table: str, position: int | None = None) -> Version | None:
        """The latest version up to a position."""
        return self._backend.version(table, position)

    def position(self, table: str, version: Version) -> int | None:
        """The ingest stamp that a version is done up to."""
        return self._backend.position(table, version)

    def marks(self, table: str, position: int) -> list[tuple[int, int]]:
        """High-water marks of commits, and when they were written."""
        return self._backend.marks(table, position)

    def facts(self, table: str, version: Version) -> Facts:
        """Size and age of a version; of a table of which the role sees some rows, only the age."""
        found = self._backend.facts(table, version)
        view = self._views[table]
        return found if view is not None and not view.filters else Facts(None, 0, 0, found.changed_at)

    def run(self, query: Query, version: Version) -> pl.DataFrame:
        """Run a query. Its conditions never see a masked value, and measures of what is not seen are null."""
        view = self._views[query.table]
        if view is None:
            return ask_frame(empty(query.table), query).collect()
        pushed = _conditions(view)
        if pushed is not None and not _columns_of(query) & view.masks.keys():
            return self._backend.run(replace(query, where=(*query.where, *pushed)), version)
        rows = self._backend.run(_source(query, view), version)
        seen = with_all_columns(view.polars(rows).lazy(), query.table)
        return _without_unseen(ask_frame(seen, query).collect(), query, view)


def _shown(role: Role, name: str) -> TableView | None:
    """The role's view; None for changes of windows, or if its filters need columns that pages do not read."""
    view = role.view(TABLES[name]) if name in TABLES else None
    read = COLUMNS.get(name)
    if view is not None and read and any(each.column not in read for each in view.filters):
        return None
    return view


def _source(query: Query, view: TableView) -> Query:
    """The rows and columns that a query needs, by conditions on columns without a mask."""
    needed = _columns_of(query) | {each.column for each in view.filters}
    columns = tuple(name for name in COLUMNS[query.table] if name in needed)
    where = tuple(each for each in query.where if each.column not in view.masks)
    return Query(query.table, columns or tuple(COLUMNS[query.table])[:1], where=where)


def _without_unseen(answer: pl.DataFrame, query: Query, view: TableView) -> pl.DataFrame:
    """Null for measures of masked columns, or all if a condition is on one: the sum of nulls would be 0."""
    blank = {name for name, mask in view.masks.items() if mask is not Mask.HASH}
    is_filtered_by_it = any(each.column in blank for each in query.where)
    unseen = [each.name for each in query.measures if is_filtered_by_it or each.column in blank]
    return answer.with_columns(pl.lit(None, answer.schema[name]).alias(name) for name in unseen)


def _columns_of(query: Query) -> set[str]:
    """The columns that a query names."""
    named = {*query.columns, *(each.column for each in (*query.measures, *query.where))}
    return (named | {name.removeprefix("-") for name in query.order}) & COLUMNS[query.table].keys()


def _conditions(view: TableView) -> tuple[Where, ...] | None:
    """The view's filters as conditions of a query; None if there is no equal one."""
    found: list[Where] = []
    for each in view.filters:
        conditions = _as_conditions(each)
        if conditions is None:
            return None
        found += conditions
    return tuple(found)


def _as_conditions(filter_: ColumnFilter) -> list[Where] | None:
    listed = (*(filter_.values or ()), *(filter_.excluded or ()))
    if not all(isinstance(value, str) for value in listed):
        return None
    found = [Where(filter_.column, _COMPARISONS[name], value) for name, value in filter_.comparisons]
    if filter_.values is not None:
        found.append(Where(filter_.column, "in", filter_.values))
    if filter_.excluded is not None:
        found.append(Where(filter_.column, "not in", filter_.excluded))
    return found
