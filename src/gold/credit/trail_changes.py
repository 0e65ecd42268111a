"""Changes of trails, one conversion at a time: a visit has up to (page views x goals) rows of trails."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from folds.persons.records import TrailRow
from lakehouse.contracts.gold import TRAILS
from lakehouse.rows.row_changes import RowChange, RowDiff

_CONVERSION = TRAILS.column_names.index("conversion_id")
_of_conversion = itemgetter(_CONVERSION)


def trail_changes(before: Iterable[tuple[Any, ...]], after: Iterable[TrailRow]) -> Iterator[list[RowChange]]:
    """Yield the changes of trails by conversion; the new rows of only one conversion are in memory.

    Args:
        before: published rows.
        after: new rows, those of one conversion together.
    """
    diff = RowDiff(TRAILS)
    known: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in before:
        known[row[_CONVERSION]].append(row)
    for conversion, steps in groupby(after, _of_conversion):
        yield diff.compare(known.pop(conversion, ()), steps)
    for rows in known.values():
        yield diff.compare(rows, ())
