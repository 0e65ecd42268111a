"""A role as conf/access.yml declares it, checked against the contracts."""

from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lakehouse.access.mask_key import MaskKey
from lakehouse.access.masks import Mask
from lakehouse.access.related_columns import Place, extend
from lakehouse.access.role import Role
from lakehouse.access.row_filters import ColumnFilter, column_filter
from lakehouse.contracts import TABLES
from lakehouse.contracts.table import Column, Table


class RoleEntry(BaseModel):
    """An entry of `roles`.

    Args:
        tables: patterns of the names of tables.
        mask: by column or table.column, its mask.
        rows: by table and column, conditions on rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tables: tuple[str, ...] = Field(min_length=1)
    mask: dict[str, Mask] = {}
    rows: dict[str, dict[str, Any]] = {}

    @field_validator("mask", mode="before")
    @classmethod
    def _null_is_a_mask(cls, given: Any) -> Any:
        """Convert None to the mask: YAML reads an unquoted `null` as None."""
        if not isinstance(given, dict):
            return given
        return {name: Mask.NULL if mask is None else mask for name, mask in given.items()}

    def to_role(self, name: str, key: MaskKey) -> Role:
        """The role.

        Raises:
            ValueError: if it names a table or column that it does not see, or a mask is not possible.
        """
        try:
            return self._role(name, key)
        except ValueError as error:
            raise ValueError(f"role {name}: {error}") from None

    def _role(self, name: str, key: MaskKey) -> Role:
        tables = self._tables()
        masks = extend(self._masks(tables), tables)
        by_table: dict[str, dict[str, Mask]] = {}
        for (table, column), mask in sorted(masks.items()):
            by_table.setdefault(table, {})[column] = mask
        filters = {each: self._filters(each, tables) for each in self.rows}
        return Role(name, key, tuple(table.name for table in tables), by_table, filters)

    def _tables(self) -> list[Table]:
        for pattern in self.tables:
            if not any(fnmatchcase(name, pattern) for name in TABLES):
                raise ValueError(f"tables: no table is named {pattern}{_meant(pattern, TABLES)}")
        return [
            table
            for name, table in TABLES.items()
            if any(fnmatchcase(name, pattern) for pattern in self.tables)
        ]

    def _masks(self, tables: Iterable[Table]) -> dict[Place, Mask]:
        """Declared masks by table and column; an entry for one table overrides an entry for all tables."""
        found: dict[Place, Mask] = {}
        for name, mask in sorted(self.mask.items(), key=lambda each: each[0].count(".")):
            places = [
                (table, column)
                for table in tables
                for column in table.columns
                if name in (column.name, f"{table.name}.{column.name}")
            ]
            if not places:
                known = {column.name for table in tables for column in table.columns}
                raise ValueError(f"mask: no table of the role has a column {name}{_meant(name, known)}")
            found |= {(table.name, column.name): mask for table, column in places}
        by_name = {table.name: table for table in tables}
        for (table_name, column_name), mask in found.items():
            _check_mask(by_name[table_name], _column(by_name[table_name], column_name), mask)
        return found

    def _filters(self, name: str, tables: Iterable[Table]) -> tuple[ColumnFilter, ...]:
        names = {table.name: table for table in tables}
        if name not in names:
            raise ValueError(f"rows: {name} is no table of the role{_meant(name, names)}")
        if not self.rows[name]:
            raise ValueError(f"rows: {name} has no condition: leave it out")
        return tuple(_filter(names[name], column, given) for column, given in self.rows[name].items())


def _filter(table: Table, column: str, given: object) -> ColumnFilter:
    if column not in table.column_names:
        raise ValueError(f"rows: {table.name} has no column {column}{_meant(column, table.column_names)}")
    try:
        return column_filter(_column(table, column), given)
    except ValueError as error:
        raise ValueError(f"rows: {table.name}.{column}: {error}") from None


def _check_mask(table: Table, column: Column, mask: Mask) -> None:
    where = f"mask: {table.name}.{column.name}"
    if mask is Mask.HASH and column.type != "string":
        kind = column.type.partition("<")[0]
        raise ValueError(f"{where} is {kind}, and only text can be hashed: take null or hide")
    if mask is not Mask.HASH and column.name in table.key:
        raise ValueError(f"{where} is part of the key: take hash, or leave the table out")


def _column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def _meant(name: str, known: Iterable[str]) -> str:
    likely = get_close_matches(name, list(known), 1)
    return f"; is {likely[0]} meant?" if likely else ""
