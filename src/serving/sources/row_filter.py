"""A subscriber's filter and projection of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from lakehouse.access.masks import Mask
from lakehouse.access.row_filters import column_filter
from lakehouse.access.table_view import TableView
from lakehouse.errors import MillraceError

_FORM = 'Write it as {"column": [values]} or {"column": {"gte": value}}, with not, gt, gte, lt or lte'


def wanted_of(view: TableView, where: Mapping[str, Any], select: Sequence[str]) -> TableView:
    """A view with a subscriber's conditions and columns, to apply after the view of its role.

    Args:
        view: the table as the role sees it. Conditions apply to masked values, not to the real ones.
        where: by column, a list of values, or comparisons.
        select: columns to show in addition to the key; empty for all.

    Raises:
        MillraceError: if a column does not exist, or a condition can't be parsed.
    """
    seen = view.contract
    columns = {column.name: column for column in seen.columns}
    for name in (*where, *select):
        if name not in columns:
            near = get_close_matches(name, columns, 1)
            hint = f"Is {near[0]} meant?" if near else f"{seen.name} has {', '.join(columns)}"
            raise MillraceError(f"{seen.name} has no column {name}", hint)
    kept = {*seen.key, *select} if select else {*columns}
    hidden = {name: Mask.HIDE for name in columns if name not in kept}
    try:
        filters = tuple(column_filter(columns[name], condition) for name, condition in where.items())
    except ValueError as error:
        raise MillraceError(f"where can't be read: {error}", _FORM) from None
    return TableView(replace(seen), view.key, hidden, filters)
