"""Sessions, impressions and searches: new events and the rows that they may change, folded by visitor."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.visitors.events import Event
from folds.visitors.rules import VisitorRules
from lakehouse.arrow_frames import apply_to_batches
from lakehouse.contracts.silver import FOLDED, IMPRESSIONS, SEARCHES, SESSIONS
from lakehouse.contracts.table import Table
from lakehouse.frames import settle
from lakehouse.instants import as_utc, to_micros
from lakehouse.merging import GONE
from silver.visitor_arrow import EVENT_TYPES
from silver.visitor_worker import EVENT, FIELDS, FoldPartition

TAKES = {
    SESSIONS.name: "type IN ('page', 'screen', 'track')",
    IMPRESSIONS.name: "role IN ('impression', 'click')",
    SEARCHES.name: "role IN ('search', 'result_click')",
}
"""By table, which events it takes: SQL over silver.events."""

_INPUTS = {
    EVENT: {**{name: EVENT_TYPES[name] for name in Event._fields}, "ingested_at": "timestamp"},
    **{FIELDS[table.name]: {column.name: column.type for column in table.columns} for table in FOLDED},
}
_STRUCTS = {
    field: f"struct<{', '.join(f'`{name}`: {kind}' for name, kind in columns.items())}>"
    for field, columns in _INPUTS.items()
}
_OUTPUT = ", ".join(f"`{field}` {_STRUCTS[field]}" for field in FIELDS.values()) + f", `{GONE}` boolean"


@dataclass(frozen=True)
class TableChanges:
    """What a fold changes of a table.

    Args:
        rows: the table's columns and `GONE`; checkpointed.
        count: of them.
        low: event time of the first.
        high: event time of the last.
    """

    rows: DataFrame
    count: int
    low: datetime
    high: datetime


def fold_events(
    events: DataFrame,
    history: Mapping[str, DataFrame],
    rules: VisitorRules,
    watermark: datetime,
    filled: Mapping[str, datetime],
    *,
    on_driver: bool = False,
) -> DataFrame:
    """What new events, and the watermark, change of rows: one shuffle by visitor, one pass in Python.

    Args:
        events: silver.events; of those up to `filled` of a table, that table has the change already.
        history: by table, every row that may change; of one that does not, nothing is emitted.
        rules: of sessions and exposures.
        watermark: decides what is open.
        filled: by table, the ingest stamp of the last events that it has.
        on_driver: whether events and history are few enough to be folded there, and at once.

    Returns:
        A struct for each table, of which one is not null, and `GONE`.
    """
    inputs = [_tagged(events.select(*Event._fields, "ingested_at"), EVENT, "event_time")]
    inputs += [
        _tagged(history[table.name].select(*table.column_names), FIELDS[table.name], str(table.event_time))
        for table in FOLDED
        if table.name in history
    ]
    together = reduce(DataFrame.unionByName, inputs)
    stamps = tuple(to_micros(filled[table.name]) for table in FOLDED)
    first, second, third = stamps
    fold = FoldPartition(rules, to_micros(watermark), (first, second, third), GONE)
    if on_driver:
        return apply_to_batches(together.orderBy("visitor_id", "at"), fold, _OUTPUT, on_driver=True)
    return (
        together.repartition("visitor_id").sortWithinPartitions("visitor_id", "at").mapInArrow(fold, _OUTPUT)
    )


def fold_changes(folded: DataFrame) -> dict[str, TableChanges]:
    """By table, what `fold_events` gives; tables of which nothing changes are left out."""
    changes = settle(folded)
    counts = changes.agg(*map(_count, FOLDED)).collect()[0]
    found = {}
    for table in FOLDED:
        count = counts[table.name]
        if count.rows:
            rows = rows_of(changes, table)
            found[table.name] = TableChanges(rows, count.rows, as_utc(count.low), as_utc(count.high))
    return found


def fold_rows(events: DataFrame, table: Table, rules: VisitorRules, watermark: datetime) -> DataFrame:
    """A table's rows by all events at once."""
    never = {each.name: datetime.fromtimestamp(0, watermark.tzinfo) for each in FOLDED}
    takes = events.where(TAKES[table.name])
    return rows_of(fold_events(takes, {}, rules, watermark, never), table).select(*table.column_names)


def rows_of(changes: DataFrame, table: Table) -> DataFrame:
    """The changes of one table, with its columns."""
    field = FIELDS[table.name]
    return changes.where(F.col(field).isNotNull()).select(f"{field}.*", GONE)


def _tagged(rows: DataFrame, field: str, time: str) -> DataFrame:
    structs = [
        (F.struct(*rows.columns) if name == field else F.lit(None)).cast(kind).alias(name)
        for name, kind in _STRUCTS.items()
    ]
    return rows.select("visitor_id", F.col(time).alias("at"), *structs)


def _count(table: Table) -> Column:
    field = FIELDS[table.name]
    time = F.col(f"{field}.{table.event_time}")
    rows = F.count(field).alias("rows")
    return F.struct(rows, F.min(time).alias("low"), F.max(time).alias("high")).alias(table.name)
