"""Sketches by day: visitors and order values by channel and campaign."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.sketches.value_sketch import sketch_values
from folds.sketches.visitor_sketch import sketch_visitors
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.daily import SKETCHES
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows, map_groups, with_key

_GROUP = ("day", "channel", "campaign_source", "campaign_medium", "campaign_name")
_COLUMNS = (*_GROUP, "visitor_id", "sessions", "order_value")
_SCHEMA = arrow_schema(SKETCHES)


def sketch_rows() -> str:
    """The query over `sessions`, `attribution` and `orders`: visitors with their sessions, and order values.

    An order belongs to the channel and campaign that model `last_non_direct` credits.
    """
    campaign = "campaign_source, campaign_medium, campaign_name"
    of_touch = ", ".join(f"attribution.{name}" for name in ("channel", *campaign.split(", ")))
    return f"""
        SELECT day, channel, {campaign}, visitor_id, COUNT(*) AS sessions,
            CAST(NULL AS DOUBLE) AS order_value
        FROM {{sessions}} GROUP BY day, channel, {campaign}, visitor_id
        UNION ALL
        SELECT attribution.day, {of_touch}, NULL, 0, CAST(attribution.credited_reporting_value AS DOUBLE)
        FROM {{attribution}} AS attribution
        JOIN {{orders}} AS orders ON attribution.conversion_id = orders.conversion_id
        WHERE attribution.model = 'last_non_direct' AND attribution.is_counted
            AND attribution.credit > 0 AND attribution.credited_reporting_value IS NOT NULL
    """


def build_sketches(rows: DataFrame) -> DataFrame:
    """Rows of gold.sketches from the rows of the query, grouped by a hash that several groups may share."""
    return map_groups({"row": with_key(rows, F.xxhash64(*_GROUP), _COLUMNS)}, _fold, _SCHEMA)


def _fold(groups: GroupedRows) -> Iterator[pa.RecordBatch]:
    by_group: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for of_hash in groups.rows("row", tuple).values():
        for row in of_hash:
            by_group[row[: len(_GROUP)]].append(row[len(_GROUP) :])
    found = [(*group, *_sums(theirs)) for group, theirs in by_group.items()]
    yield pa.RecordBatch.from_arrays(transpose(found, list(_SCHEMA)), schema=_SCHEMA)


def _sums(rows: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    visitors = [visitor_id for visitor_id, _, _ in rows if visitor_id is not None]
    values = [value for _, _, value in rows if value is not None]
    sessions = sum(count for _, count, _ in rows)
    return sessions, sketch_visitors(visitors), len(values), sketch_values(values)
