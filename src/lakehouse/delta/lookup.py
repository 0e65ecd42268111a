"""Lookups: rows of a table by time and key, as an Arrow table or a frame."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from functools import cached_property, reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.rows.arrow_frames import with_any_of
from lakehouse.rows.time_pruner import TimePruner


@dataclass(frozen=True)
class Lookup:
    """Columns and conditions of a lookup. A condition of None accepts all rows.

    Args:
        columns: names of the columns to read.
        near: time ranges.
        start: the column whose time has to be in one of the ranges.
        end: if set, the span from `start` to this column has to overlap one of the ranges instead.
        key: a column, and its accepted values.
        flag: a column that has to be true.
        above: a numeric column, and a number that it has to exceed.
    """

    columns: tuple[str, ...]
    near: TimePruner | None = None
    start: str = ""
    end: str | None = None
    key: tuple[str, Collection[str] | Collection[int] | Collection[date]] | None = None
    flag: str | None = None
    above: tuple[str, int] | None = None

    @property
    def times(self) -> tuple[str, ...]:
        """Columns of the time conditions."""
        return () if self.near is None else (self.start, self.end or self.start)

    @property
    def asked(self) -> tuple[str, ...]:
        """Columns of all conditions, each once."""
        key = () if self.key is None else (self.key[0],)
        flag = () if self.flag is None else (self.flag,)
        above = () if self.above is None else (self.above[0],)
        return tuple(dict.fromkeys((*self.times, *key, *flag, *above)))

    def of_frame(self, rows: DataFrame) -> DataFrame:
        """The matching rows of a frame."""
        if self.near is not None:
            rows = rows.where(self.near.overlaps(self.start, self.end or self.start))
        if self.flag is not None:
            rows = rows.where(self.flag)
        if self.above is not None:
            rows = rows.where(F.col(self.above[0]) > self.above[1])
        if self.key is not None:
            rows = with_any_of(rows, *self.key)
        return rows.select(*self.columns)

    def mask(self, rows: pa.Table) -> pa.ChunkedArray | pa.Array | None:
        """Which rows match, given the columns `asked` with times in microseconds; None if all do."""
        masks = []
        if self.near is not None:
            masks.append(self.near.mask(*(rows[name] for name in self.times)))
        if self.flag is not None:
            masks.append(rows[self.flag])
        if self.above is not None:
            masks.append(pc.greater(rows[self.above[0]], self.above[1]))
        if self.key is not None:
            name, _ = self.key
            masks.append(pc.is_in(rows[name], self._keys.cast(rows[name].type)))
        return reduce(pc.and_kleene, masks) if masks else None

    @cached_property
    def _keys(self) -> pa.Array:
        """The values of `key` as an array, built once for all files."""
        return pa.array([] if self.key is None else list(self.key[1]))
