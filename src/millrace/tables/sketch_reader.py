"""Estimates distinct visitors and order values of any period, by any dimension of gold.sketches."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from typing import Any

import polars as pl

from folds.sketches.value_sketch import quantiles
from folds.sketches.visitor_sketch import estimate_visitors
from lakehouse.contracts.daily import SKETCHES
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.tables.duckdb_views import run_query, table_exists

DIMENSIONS = {
    "day": "day",
    "month": "strftime(day, '%Y-%m')",
    "channel": "channel",
    "source": "campaign_source",
    "medium": "campaign_medium",
    "campaign": "campaign_name",
}
"""SQL expressions of the dimensions, by name."""

_IN_TIME = {"day", "month"}
_RANKS = {"median": 0.5, "p90": 0.9}


def visitors_by(settings: Settings, by: Sequence[str], first: date | None, last: date | None) -> pl.DataFrame:
    """Merge the sketches of a period.

    Args:
        settings: the settings in force.
        by: names in `DIMENSIONS`; empty for a single row.
        first: first day; None: the first day of the table.
        last: last day, included; None: the last day of the table.

    Returns:
        A column for each dimension, the exact `sessions` and `orders`, `visitors` with bounds of 95 %
        confidence, and quantiles of order values. Rows by time are in order of time, others in descending
        order of visitors.

    Raises:
        MillraceError: for an unknown dimension, or if nothing has been published yet.
    """
    for name in by:
        if name not in DIMENSIONS:
            raise MillraceError(f"there is no dimension {name}", f"Choose of {', '.join(DIMENSIONS)}")
    if not table_exists(settings, SKETCHES.name):
        raise MillraceError("gold.sketches is not there yet", "It is made when publish runs")
    keys = "".join(f"{DIMENSIONS[name]} AS key{place}, " for place, name in enumerate(by))
    conditions = [f"day >= DATE '{first}'"] * (first is not None) + [f"day <= DATE '{last}'"] * (
        last is not None
    )
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    query = f"SELECT {keys}sessions, visitors, orders, order_values FROM {SKETCHES.name} {where}"
    groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in run_query(settings, query).iter_rows():
        groups[row[: len(by)]].append(row[len(by) :])
    made = [{**dict(zip(by, group, strict=True)), **_merge(rows)} for group, rows in groups.items()]
    if _IN_TIME & set(by):
        made.sort(key=lambda row: [str(row[name]) for name in by])
    else:
        made.sort(key=lambda row: (-row["visitors"], *(str(row[name]) for name in by)))
    return pl.DataFrame(made, infer_schema_length=None)


def _merge(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    sessions, sketches, orders, values = zip(*rows, strict=True)
    found = estimate_visitors(sketches)
    quantities = quantiles([value for value in values if value is not None], _RANKS.values())
    named = zip(_RANKS, quantities, strict=True) if quantities else ((name, None) for name in _RANKS)
    return {
        "sessions": sum(sessions),
        "visitors": round(found.visitors),
        "at_least": round(found.lower),
        "at_most": round(found.upper),
        "orders": sum(orders),
        **{name: None if quantile is None else round(quantile.value, 2) for name, quantile in named},
    }
