"""A table as a role sees it: its rows, columns and changes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.access.mask_key import MaskKey
from lakehouse.access.masks import Mask, masked
from lakehouse.access.row_filters import ColumnFilter
from lakehouse.contracts.table import Column, Table

if TYPE_CHECKING:
    import polars as pl

_SIDES = ("before", "after")


@dataclass(frozen=True)
class TableView:
    """A table with a role's row filters and masks.

    Args:
        table: its contract.
        key: of hashes.
        masks: by column.
        filters: conditions on unmasked values, all of which have to be true.
    """

    table: Table
    key: MaskKey = field(repr=False)
    masks: Mapping[str, Mask] = field(default_factory=dict)
    filters: tuple[ColumnFilter, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it shows the table unchanged."""
        return not self.masks and not self.filters

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that the role sees, in order."""
        return tuple(each for each in self.table.columns if self.masks.get(each.name) is not Mask.HIDE)

    @property
    def contract(self) -> Table:
        """The contract of what the role sees, without hidden columns."""
        return replace(self.table, columns=self.columns)

    def source_columns(self, names: frozenset[str]) -> Table:
        """The contract with only the columns needed to show some columns, those of filters included."""
        shown = {each.name for each in self.columns if each.name in names}
        needed = shown or {each.name for each in self.columns[:1]}  # rows are counted by some column
        needed |= {each.column for each in self.filters}
        return replace(self.table, columns=tuple(each for each in self.table.columns if each.name in needed))

    def apply(self, rows: pa.Table) -> pa.Table:
        """The rows that the role sees, masked. Filters come first, on unmasked values.

        Args:
            rows: with some or all columns of the table, those of the filters included.
        """
        if self.filters:
            rows = rows.filter(self._passing(rows))
        return self._masked(rows)

    def apply_changes(self, changes: pa.Table) -> pa.Table:
        """Changes of what the role sees.

        A row that starts to pass the filters is an insert, one that stops passing them is a delete. A change
        is left out if the row passes neither before nor after, or if masks hide the change.

        Args:
            changes: of `lakehouse.delta.row_pairs.change_schema`.
        """
        if self.is_whole:
            return changes
        seen = {side: self._side(changes[side].combine_chunks()) for side in _SIDES}
        kinds = _kinds(seen["before"], seen["after"])
        for name, values in (("change", pa.array(kinds, pa.string())), *seen.items()):
            place = changes.schema.get_field_index(name)
            changes = changes.set_column(place, name, values)
        return changes.filter(pa.array([kind is not None for kind in kinds], pa.bool_()))

    def polars(self, frame: "pl.DataFrame") -> "pl.DataFrame":
        """The rows of a polars frame that the role sees, masked; see `apply`."""
        import polars as pl

        if self.is_whole:
            return frame
        rows = self.apply(frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
        kept = [name for name in frame.columns if name in rows.column_names]
        return cast(pl.DataFrame, pl.from_arrow(rows)).cast({name: frame.schema[name] for name in kept})

    def _passing(self, rows: pa.Table) -> pa.ChunkedArray:
        return reduce(pc.and_, [each.passes(rows[each.column]) for each in self.filters])

    def _masked(self, rows: pa.Table) -> pa.Table:
        for name, mask in self.masks.items():
            place = rows.schema.get_field_index(name)
            if place < 0:
                continue
            if mask is Mask.HIDE:
                rows = rows.remove_column(place)
            else:
                rows = rows.set_column(place, rows.schema.field(place), masked(rows[name], mask, self.key))
        return rows

    def _side(self, structs: pa.StructArray) -> pa.StructArray:
        """One side of changes: null where the role does not see the row."""
        rows = pa.table(dict(zip((each.name for each in structs.type), structs.flatten(), strict=True)))
        is_seen = structs.is_valid()
        if self.filters:
            is_seen = pc.and_(is_seen, self._passing(rows).combine_chunks())
        shown = self._masked(rows).combine_chunks()
        columns = [_array(shown[name]) for name in shown.column_names]
        return pa.StructArray.from_arrays(columns, fields=list(shown.schema), mask=pc.invert(is_seen))


def _array(column: pa.ChunkedArray) -> pa.Array:
    joined = column.combine_chunks()
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def _kinds(before: pa.StructArray, after: pa.StructArray) -> list[str | None]:
    """The kind of each change as the role sees it; None if it sees no change."""
    found: list[str | None] = []
    for old, new in zip(before.to_pylist(), after.to_pylist(), strict=True):
        if old is not None and new is not None:
            found.append(None if repr(old) == repr(new) else "update")
        else:
            found.append("insert" if new is not None else "delete" if old is not None else None)
    return found
