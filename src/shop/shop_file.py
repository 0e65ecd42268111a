"""conf/shop.yml: databases of the shop, and the dimensions that their tables become."""

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from folds.shop.customers import CustomerColumns
from lakehouse.bundle_file import read_yaml
from lakehouse.contracts.shop import DIMENSIONS
from lakehouse.errors import MillraceError, first_problem

FILE = "shop.yml"
_CUSTOMER = "customer_id"
_NEXT_STEP = f"Correct conf/{FILE}; docs/shop.md has an example"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ShopTable(_Entry):
    """A table of the shop's database.

    Attributes:
        dimension: the table of silver that has its history, without `silver.`.
        key: columns of the primary key.
        columns: by column of the dimension, the table's column, or several of which the first that a row has
            counts.
    """

    dimension: str
    key: tuple[str, ...] = Field(("id",), min_length=1)
    columns: dict[str, tuple[str, ...]]

    @field_validator("columns", mode="before")
    @classmethod
    def _lists(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        return {name: (each,) if isinstance(each, str) else each for name, each in given.items()}

    @field_validator("dimension")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if f"silver.{name}" not in DIMENSIONS:
            known = ", ".join(each.removeprefix("silver.") for each in DIMENSIONS)
            raise ValueError(f"there is no dimension {name}; there are {known}")
        return name


class ShopSource(_Entry):
    """A database of the shop.

    Attributes:
        connection: the environment variable with its connection string; if unset, nothing is captured.
        tables: by name with schema, as `public.customers`.
    """

    connection: str
    tables: dict[str, ShopTable] = Field(min_length=1)

    @property
    def database(self) -> str | None:
        """The connection string; None if there is none."""
        return os.environ.get(self.connection) or None


class ShopRules(_Entry):
    """Content of conf/shop.yml.

    Attributes:
        sources: databases by name.
    """

    sources: dict[str, ShopSource] = {}

    @property
    def customer_columns(self) -> CustomerColumns:
        """By source and table, the columns with the customer, of which the first that a row has counts."""
        return {
            (name, table): each.columns.get(_CUSTOMER, ())
            for name, source in self.sources.items()
            for table, each in source.tables.items()
        }

    def source(self, name: str) -> ShopSource:
        """A source by name.

        Raises:
            MillraceError: if there is none.
        """
        if name not in self.sources:
            known = ", ".join(self.sources) or "none"
            raise MillraceError(f"conf/{FILE} has no source {name}, but {known}", _NEXT_STEP)
        return self.sources[name]


def load_shop_rules(conf: Path) -> ShopRules:
    """Read conf/shop.yml; without it there are no sources.

    Raises:
        MillraceError: if it is not valid.
    """
    try:
        rules = ShopRules.model_validate(read_yaml(conf / FILE) or {})
    except ValidationError as error:
        raise MillraceError(f"conf/{FILE} is not valid: {first_problem(error)}", _NEXT_STEP) from error
    for source in rules.sources.values():
        for name, table in source.tables.items():
            _check_columns(name, table)
    return rules


def _check_columns(name: str, table: ShopTable) -> None:
    known = DIMENSIONS[f"silver.{table.dimension}"].attributes
    if unknown := sorted(table.columns.keys() - set(known)):
        raise MillraceError(
            f"conf/{FILE} maps {name} to {table.dimension}.{unknown[0]}, which is no column of it",
            f"Its columns are {', '.join(known)}",
        )
