"""Window differences computed from handmade visitor minutes."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from folds.windows.revisions import Sums, WindowKey
from folds.windows.time_windows import Windows
from gold.traffic.differences import ADDED, MINUTE, window_differences
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.rows.arrow_times import in_micros


class VisitorMinute(NamedTuple):
    """A row of gold.visitor_minutes. Other measures are 0."""

    visitor: str
    minute: int
    channel: str | None
    events: int
    value: Decimal
    by_events: bool


def differences_of(
    rows: Sequence[VisitorMinute], known: int, windows: Iterable[Windows]
) -> dict[WindowKey, Sums]:
    """The window differences made by the rows from index `known` on, given all rows of their visitors."""
    contract = arrow_schema(VISITOR_MINUTES)
    schema = pa.schema([contract.field(name) for name in MINUTE])
    minutes = pa.Table.from_pylist([_row(row, place) for place, row in enumerate(rows)], schema)
    found: Any = window_differences(minutes, windows, known - 1)
    columns = in_micros(found).to_pydict().values()
    return {WindowKey(*row[:4]): Sums(*row[4:]) for row in zip(*columns, strict=True)}


def _row(row: VisitorMinute, place: int) -> dict[str, Any]:
    given = {"visitor_id": row.visitor, "minute": row.minute, "channel": row.channel, "sequence": place}
    measures = {"events": row.events, "value": row.value, "by_events": row.by_events}
    return {**dict.fromkeys(ADDED, 0), **given, **measures}
