"""Computes changes of sessions, impressions and searches from new events and affected rows, by visitor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial, reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.visitors.events import SESSION_TYPES, Event
from folds.visitors.fold import IMPRESSION_ROLES, SEARCH_ROLES
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.arrow import arrow_type
from lakehouse.contracts.exposures import IMPRESSIONS, SEARCHES
from lakehouse.contracts.silver import FOLDED, SESSIONS
from lakehouse.contracts.table import DELETED, Table
from lakehouse.rows.arrow_times import in_micros
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.driver_or_spark import Rows, union
from lakehouse.rows.worker_pool import count_parts, map_parts, split_by_key
from lakehouse.timestamps import as_utc, from_micros, to_micros
from silver.visits.visitor_arrow import EVENT_TYPES
from silver.visits.visitor_worker import EVENT, FIELDS, FoldPartition

_TAKES = {
    SESSIONS.name: ("type", SESSION_TYPES),
    IMPRESSIONS.name: ("role", IMPRESSION_ROLES),
    SEARCHES.name: ("role", SEARCH_ROLES),
}
"""By table: the column of silver.events that selects its events, and the accepted values."""


def _arrow(columns: Mapping[str, str]) -> pa.StructType:
    return pa.struct([pa.field(name, arrow_type(kind)) for name, kind in columns.items()])


_INPUTS = {
    EVENT: {**{name: EVENT_TYPES[name] for name in Event._fields}, "ingested_at": "timestamp"},
    **{FIELDS[table.name]: {column.name: column.type for column in table.columns} for table in FOLDED},
}
_STRUCTS = {
    field: f"struct<{', '.join(f'`{name}`: {kind}' for name, kind in columns.items())}>"
    for field, columns in _INPUTS.items()
}
_ON_DRIVER = {
    field: in_micros(pa.table({"it": pa.array([], _arrow(columns))})).schema.field("it").type
    for field, columns in _INPUTS.items()
}
_OUTPUT = ", ".join(f"`{field}` {_STRUCTS[field]}" for field in FIELDS.values()) + f", `{DELETED}` boolean"


def takes_event(table: str, kind: str, role: str | None) -> bool:
    """Whether a table is computed from events of a type and role."""
    column, values = _TAKES[table]
    return (kind if column == "type" else role) in values


def events_of(events: Rows, *tables: str) -> Rows:
    """Select the events that the given tables are computed from; without names, events of any table."""
    wanted = [_TAKES[table] for table in tables or _TAKES]
    if isinstance(events, DataFrame):
        return events.where(reduce(or_, (F.col(column).isin(*values) for column, values in wanted)))
    masks = (pc.is_in(events[column], pa.array(list(values), pa.string())) for column, values in wanted)
    return events.filter(reduce(pc.or_, masks))


@dataclass(frozen=True)
class TableChanges:
    """Changes of one table.

    Args:
        rows: the table's columns and `DELETED`; computed.
        count: number of rows.
        low: lowest event time.
        high: highest event time.
    """

    rows: Rows
    count: int
    low: datetime
    high: datetime


def fold_events(
    events: Rows,
    history: Mapping[str, Rows],
    rules: VisitorRules,
    watermark: datetime,
    filled: Mapping[str, datetime],
) -> Rows:
    """Compute row changes by new events and the watermark: one shuffle by visitor, one pass in Python.

    If events and history are on the driver, the pass runs there, eagerly.

    Args:
        events: rows of silver.events. Events up to a table's `filled` stamp are already in that table.
        history: by table, every row that may change. Unchanged rows are not emitted.
        rules: of sessions and exposures.
        watermark: decides which rows are open.
        filled: high-water mark (ingest stamp) by table.

    Returns:
        One struct column per table, of which one is not null, and `DELETED`.
    """
    inputs = [_tagged(events, [*Event._fields, "ingested_at"], EVENT, "event_time")]
    inputs += [
        _tagged(history[table.name], table.column_names, FIELDS[table.name], str(table.event_time))
        for table in FOLDED
        if table.name in history
    ]
    together = reduce(union, inputs)
    first, second, third = (to_micros(filled[table.name]) for table in FOLDED)
    fold = FoldPartition(rules, to_micros(watermark), (first, second, third), DELETED)
    if isinstance(together, DataFrame):
        by_visitor = together.repartition("visitor_id").sortWithinPartitions("visitor_id", "at")
        return by_visitor.mapInArrow(fold, _OUTPUT)
    parts = split_by_key({"rows": together}, "visitor_id", count_parts(together.num_rows))
    folded = [each for each in map_parts(partial(_fold_part, fold), parts) if each.num_rows]
    return pa.concat_tables(folded) if folded else pa.table({})


def _fold_part(fold: FoldPartition, part: Mapping[str, pa.Table]) -> pa.Table:
    in_order = part["rows"].sort_by([("visitor_id", "ascending"), ("at", "ascending")])
    batches = list(fold(iter(in_order.combine_chunks().to_batches())))
    return pa.Table.from_batches(batches) if batches else pa.table({})


def fold_changes(folded: Rows) -> dict[str, TableChanges]:
    """Split the output of `fold_events` by table; tables without changes are left out."""
    if not isinstance(folded, DataFrame):
        changed = {table.name: _changes_of(folded, table) for table in FOLDED if folded.num_rows}
        return {name: each for name, each in changed.items() if each.count}
    changes = checkpoint(folded)
    counts = changes.agg(*map(_count, FOLDED)).collect()[0]
    found = {}
    for table in FOLDED:
        count = counts[table.name]
        if count.rows:
            rows = rows_of(changes, table)
            found[table.name] = TableChanges(rows, count.rows, as_utc(count.low), as_utc(count.high))
    return found


def fold_rows(events: DataFrame, table: Table, rules: VisitorRules, watermark: datetime) -> DataFrame:
    """Compute all rows of a table from all events."""
    never = {each.name: datetime.fromtimestamp(0, watermark.tzinfo) for each in FOLDED}
    takes = events_of(events, table.name)
    folded = fold_events(takes, {}, rules, watermark, never)
    return rows_of(folded, table).select(*table.column_names)


def rows_of(changes: DataFrame, table: Table) -> DataFrame:
    """Select the changes of one table, with its columns."""
    field = FIELDS[table.name]
    return changes.where(F.col(field).isNotNull()).select(f"{field}.*", DELETED)


def _changes_of(folded: pa.Table, table: Table) -> TableChanges:
    structs = folded[FIELDS[table.name]]
    there = pc.is_valid(structs)
    values = structs.filter(there).combine_chunks()
    rows = pa.table([*values.flatten(), folded[DELETED].filter(there)], [*table.column_names, DELETED])
    bounds = pc.min_max(rows[str(table.event_time)].cast(pa.int64())).as_py()
    low, high = (from_micros(bounds[end] or 0) for end in ("min", "max"))
    return TableChanges(rows, rows.num_rows, low, high)


def _tagged(rows: Rows, names: Sequence[str], field: str, time: str) -> Rows:
    """Select visitor, time, and one struct per kind of row; only the struct of `field` is not null."""
    if isinstance(rows, DataFrame):
        return _tagged_frame(rows.select(*names), field, time)
    columns = [rows[name].combine_chunks() for name in names]
    structs = pa.StructArray.from_arrays(columns, list(names))
    others = [structs if name == field else pa.nulls(rows.num_rows, _ON_DRIVER[name]) for name in _STRUCTS]
    return pa.table([rows["visitor_id"], rows[time], *others], ["visitor_id", "at", *_STRUCTS])


def _tagged_frame(rows: DataFrame, field: str, time: str) -> DataFrame:
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
