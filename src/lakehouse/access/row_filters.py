"""Which rows a role sees: conditions on the unmasked values of columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakehouse.contracts.arrow import arrow_type
from lakehouse.contracts.table import Column

_COMPARISONS = {"gte": pc.greater_equal, "gt": pc.greater, "lte": pc.less_equal, "lt": pc.less}
_WRITTEN: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "int": (int,),
    "bigint": (int,),
    "double": (int, float),
    "decimal": (int, float, str),
    "date": (date, str),
    "timestamp": (date, datetime, str),
}
"""By column type, the Python types of a value from YAML, or from JSON, which has no dates."""


@dataclass(frozen=True)
class ColumnFilter:
    """Conditions on one column, all of which have to be true of a row.

    A null is in `values` only if it is listed there, and meets none of the other conditions.

    Args:
        column: name of the column.
        values: the values that a row may have; None: any.
        excluded: the values that it may not have; None: no such values.
        comparisons: values to compare with, by `gte`, `gt`, `lte` or `lt`.
    """

    column: str
    values: tuple[Any, ...] | None = None
    excluded: tuple[Any, ...] | None = None
    comparisons: tuple[tuple[str, Any], ...] = ()

    def passes(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """For each value of the column, whether it meets all conditions."""
        found = [] if self.values is None else [pc.is_in(values, value_set=_array(self.values, values.type))]
        if self.excluded is not None:
            listed = pc.is_in(values, value_set=_array(self.excluded, values.type))
            found.append(pc.and_(pc.invert(listed), pc.is_valid(values)))
        found += [
            pc.fill_null(_COMPARISONS[name](values, _array([value], values.type)[0]), False)
            for name, value in self.comparisons
        ]
        return reduce(pc.and_, found)


def column_filter(column: Column, given: object) -> ColumnFilter:
    """The filter that conf/access.yml, or a subscriber, gives for a column.

    Args:
        column: of the table.
        given: a list of values, or conditions by name: `not`, `gte`, `gt`, `lte`, `lt`.

    Raises:
        ValueError: if it is neither, or a value is not of the column's type.
    """
    if isinstance(given, list) and given:
        return ColumnFilter(column.name, values=tuple(_typed(column, each, or_null=True) for each in given))
    if not isinstance(given, Mapping) or not given:
        raise ValueError("has to be a list of values, or conditions by name: not, gte, gt, lte, lt")
    if unknown := sorted(str(name) for name in set(given) - {"not", *_COMPARISONS}):
        raise ValueError(f"there is no condition {unknown[0]}: it is not, gte, gt, lte or lt")
    excluded = given.get("not")
    if "not" in given and not (isinstance(excluded, list) and excluded):
        raise ValueError("not has to be a list of values")
    return ColumnFilter(
        column.name,
        excluded=None if excluded is None else tuple(_typed(column, each, or_null=True) for each in excluded),
        comparisons=tuple((name, _typed(column, given[name])) for name in _COMPARISONS if name in given),
    )


def _typed(column: Column, value: object, *, or_null: bool = False) -> Any:
    """Convert a value from YAML or JSON to the column's type."""
    if value is None and or_null:
        return None
    kind = column.type.partition("(")[0]
    if kind not in _WRITTEN:
        raise ValueError(f"rows can't be chosen by {column.name}, which is {column.type.partition('<')[0]}")
    if type(value) not in _WRITTEN[kind]:
        raise ValueError(f"{value!r} is no {kind}")
    try:
        if kind in ("date", "timestamp"):
            return _in_time(kind, value)
        if kind == "decimal":
            value = Decimal(str(value))
        pa.scalar(value, arrow_type(column.type))
    except (ArithmeticError, pa.ArrowInvalid, ValueError):
        raise ValueError(f"{value} does not fit {column.type}") from None
    return value


def _in_time(kind: str, value: Any) -> date:
    if kind == "date":
        return date.fromisoformat(value) if isinstance(value, str) else value
    return _instant(datetime.fromisoformat(value.replace("Z", "+00:00")) if isinstance(value, str) else value)


def _instant(value: date) -> datetime:
    """A time in UTC. A date, or a time without an offset, counts as UTC."""
    at = value if isinstance(value, datetime) else datetime.combine(value, time())
    return at.replace(tzinfo=timezone.utc) if at.tzinfo is None else at.astimezone(timezone.utc)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind)
