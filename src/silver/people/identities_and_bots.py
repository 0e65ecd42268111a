"""The fold over visitors for silver.identities and silver.bots."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from folds.visitors.bots import Bot, BotRules, Sender, find_bot
from folds.visitors.identities import Identity, identify_visitor
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.silver import BOTS, EVENTS, IDENTITIES
from lakehouse.contracts.table import Table
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import change_type
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, with_key
from lakehouse.rows.semi_join import semi_join
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import to_micros

COLUMNS = ("user_id", "user_agent", "library", "event_time", "event_id")
"""Columns of silver.events that both tables are computed from, with visitor_id as the key."""

DIMENSIONS = (IDENTITIES, BOTS)
CHANGES = pa.schema([pa.field(table.short_name, change_type(table)) for table in DIMENSIONS])


def dimension_changes(
    lake: Lakehouse, events: DataFrame, near: TimePruner, rules: BotRules, stamps: Mapping[str, Any]
) -> DataFrame:
    """Merge new events into the rows of their visitors.

    The order of events does not matter, and a repeated batch after a crash has no effect.

    Args:
        lake: the tables.
        events: visitor_id and `COLUMNS` of the new events, late ones included.
        near: contains the times within the rate window around new events.
        rules: the current bot rules.
        stamps: values of the provenance columns of changed rows.

    Returns:
        `CHANGES`: a struct per table, of which one is not null; not computed yet.
    """
    times = lake.read(EVENTS.name).where(near.contains("event_time")).select("visitor_id", "event_time")
    kinds = {
        "event": with_key(events, "visitor_id", COLUMNS),
        "time": with_key(semi_join(times, events, "visitor_id"), "visitor_id", ("event_time",)),
    }
    for table in DIMENSIONS:
        known = semi_join(lake.read(table.name), events, "visitor_id")
        kinds[table.short_name] = with_key(known, "visitor_id", table.deterministic_columns)
    return map_groups(kinds, _DimensionFold(rules, stamps), CHANGES)


def all_rows(events: DataFrame, table: Table, rules: BotRules) -> DataFrame:
    """Compute the deterministic columns of silver.identities or silver.bots from all events.

    Args:
        events: visitor_id and `COLUMNS` of silver.events.
        table: which of the two.
        rules: the current bot rules.
    """
    schema = pa.schema([arrow_schema(table).field(name) for name in table.deterministic_columns])
    fold = _find_identities if table is IDENTITIES else _find_bots
    kinds = {"event": with_key(events, "visitor_id", COLUMNS)}
    return map_groups(kinds, _AllRows(fold, rules, schema), schema)


@dataclass(frozen=True)
class _DimensionFold:
    """The fold, as Spark's Python workers run it.

    Args:
        rules: the bot rules.
        stamps: values of the provenance columns of changed rows; times in microseconds.
    """

    rules: BotRules
    stamps: Mapping[str, Any]

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        identities, bots = _find_identities(groups, self.rules), _find_bots(groups, self.rules)
        for table, found, known in (
            (IDENTITIES, identities, _known(groups, IDENTITIES, Identity)),
            (BOTS, bots, _known(groups, BOTS, Bot)),
        ):
            changed = [row for row in found if row != known.get(row[0])]
            if changed:
                rows = [self._change(table, row, known.get(row[0])) for row in changed]
                yield batch_of_kind(CHANGES, table.short_name, rows)

    def _change(self, table: Table, row: Any, known: Any) -> tuple[Any, ...]:
        """A changed row as `change_type`."""
        more = (self.stamps[name] for name in table.column_names if name not in table.deterministic_columns)
        at = table.column_names.index(str(table.event_time))
        return (*row, *more, False, known[at] if known else None)


@dataclass(frozen=True)
class _AllRows:
    """Computes all rows of one table."""

    find: Callable[[GroupedRows, BotRules], list[Any]]
    rules: BotRules
    schema: pa.Schema

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        rows = self.find(groups, self.rules)
        yield pa.RecordBatch.from_arrays(transpose(rows, list(self.schema)), schema=self.schema)


def _known(groups: GroupedRows, table: Table, make: Any) -> dict[str, Any]:
    return {visitor: rows[0] for visitor, rows in groups.rows(table.short_name, make).items()}


def _find_identities(groups: GroupedRows, _: BotRules) -> list[Identity]:
    known, found = _known(groups, IDENTITIES, Identity), []
    for visitor, events in groups.rows("event", tuple).items():
        logins = [(at, event_id, user) for user, _, _, at, event_id in events if user is not None]
        if logins and (identity := identify_visitor(visitor, logins, known.get(visitor))):
            found.append(identity)
    return found


def _find_bots(groups: GroupedRows, rules: BotRules) -> list[Bot]:
    known, near, found = _known(groups, BOTS, Bot), groups.rows("time", _time), []
    for visitor, events in groups.rows("event", tuple).items():
        senders = [Sender(agent, library, at) for _, agent, library, at, _ in events]
        times = near.get(visitor) or [sender.at for sender in senders]
        if bot := find_bot(visitor, senders, times, known.get(visitor), rules):
            found.append(bot)
    return found


def _time(at: int) -> int:
    return at


def stamps_of(upto: datetime, rules_version: str) -> dict[str, Any]:
    """Values of the provenance columns of rows that a micro-batch changes."""
    return {"ingested_at": to_micros(upto), "rules_version": rules_version}
