"""Rows of gold.touches, one second apart, for benchmarks of its changes."""

from datetime import datetime, timezone

import pyarrow as pa

from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.gold import TOUCHES
from lakehouse.timestamps import from_micros, to_micros

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def touches(first: int, count: int, kind: str = "visit") -> pa.Table:
    """Touches, each of a different visitor.

    Args:
        first: number of the first touch.
        count: how many there are.
        kind: a value that tells updates of the same touches apart.
    """
    rows = [touch(number, kind) for number in range(first, first + count)]
    return pa.Table.from_pylist(rows, arrow_schema(TOUCHES))


def touch(number: int, kind: str = "visit") -> dict[str, object]:
    """The touch with this number."""
    return {
        "touch_id": f"t{number:09}",
        "visitor_id": f"v{number:09}",
        "touched_at": from_micros(to_micros(NOON) + number * 1_000_000),
        "kind": kind,
    }
