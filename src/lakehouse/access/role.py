"""A role: the tables, columns and rows that it sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from lakehouse.access.mask_key import MaskKey
from lakehouse.access.masks import Mask
from lakehouse.access.row_filters import ColumnFilter
from lakehouse.access.table_view import TableView
from lakehouse.contracts import TABLES
from lakehouse.contracts.table import Table


@dataclass(frozen=True)
class Role:
    """The permissions of a group of readers.

    Args:
        name: of the role.
        key: of hashes.
        tables: names of the tables that it sees, in order of the contracts.
        masks: by table and column.
        filters: by table, conditions on its rows.
    """

    name: str
    key: MaskKey = field(repr=False)
    tables: tuple[str, ...] = tuple(TABLES)
    masks: Mapping[str, Mapping[str, Mask]] = field(default_factory=dict)
    filters: Mapping[str, tuple[ColumnFilter, ...]] = field(default_factory=dict)

    @property
    def is_unrestricted(self) -> bool:
        """Whether it sees everything."""
        return not self.masks and not self.filters and len(self.tables) == len(TABLES)

    @property
    def fingerprint(self) -> str:
        """A text that differs if the role sees something else: part of the key of a cache."""
        seen = (self.name, self.tables, sorted(self.filters.items()), _sorted(self.masks))
        return sha256(repr(seen).encode()).hexdigest()[:16]

    def view(self, table: Table) -> TableView | None:
        """A table as the role sees it; None if it does not see the table."""
        if table.name not in self.tables:
            return None
        masks, filters = self.masks.get(table.name, {}), self.filters.get(table.name, ())
        return TableView(table, self.key, masks, filters)


def everything() -> Role:
    """A role that sees everything. Without masks it needs no key."""
    return Role("admin", MaskKey(Path()))


def _sorted(masks: Mapping[str, Mapping[str, Mask]]) -> list[tuple[str, str, str]]:
    return sorted((table, name, mask.value) for table, of in masks.items() for name, mask in of.items())
