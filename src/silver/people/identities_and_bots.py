"""Updates silver.identities and silver.bots from events."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from folds.visitors.bots import Bot, BotRules, find_bot, load_bot_rules
from folds.visitors.identities import Identity, identify_visitor
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.silver import BOTS, EVENTS, IDENTITIES
from lakehouse.contracts.table import DELETED, Table
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.rows.arrow_frames import rows_of, transpose
from lakehouse.rows.driver_or_spark import local_rows, with_key
from lakehouse.rows.grouped import GroupedRows, Groups
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import Batch
from lakehouse.run.rules_version import rules_version
from lakehouse.timestamps import to_micros

COLUMNS = ("visitor_id", "user_id", "user_agent", "event_time", "event_id")
"""Columns of silver.events that both tables are computed from."""


class VisitorDimensions:
    """Updates silver.identities and silver.bots from silver.events.

    Both folds merge new events into the existing row, so the order of events does not matter and a repeated
    batch after a crash has no effect. Unchanged rows are not written. The rules are read for each
    micro-batch.

    Args:
        run: the job's run.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run

    def __call__(self, batch: Batch) -> None:
        """Process the events of one micro-batch, late ones included."""
        stamps = TimePruner([(to_micros(batch.after) + 1, to_micros(batch.upto))])
        events = self._run.lake.find(EVENTS.name, Lookup(COLUMNS, stamps, "ingested_at"))
        if events.num_rows:
            self._identify(events, batch)
            self._find_bots(events, batch)

    def _identify(self, events: pa.Table, batch: Batch) -> None:
        said = _said(rows_of(events, ("visitor_id", "event_time", "event_id", "user_id")))
        known = self._known(IDENTITIES, Identity, said)
        found = (identify_visitor(visitor, theirs, known.get(visitor)) for visitor, theirs in said.items())
        self._keep(IDENTITIES, [each for each in found if each and each != known.get(each.visitor_id)], batch)

    def _find_bots(self, events: pa.Table, batch: Batch) -> None:
        rules = load_bot_rules(self._run.settings.conf)
        agents = _agents(rows_of(events, ("visitor_id", "user_agent", "event_time")))
        times = self._times(agents, rules)
        known = self._known(BOTS, Bot, agents)
        found = (
            find_bot(visitor, theirs, times.get(visitor, ()), known.get(visitor), rules)
            for visitor, theirs in agents.items()
        )
        self._keep(BOTS, [each for each in found if each and each != known.get(each.visitor_id)], batch)

    def _times(
        self, agents: dict[str, list[tuple[str | None, int]]], rules: BotRules
    ) -> dict[str, list[int]]:
        """Read, by visitor, at least the times of events within the rate window around a new event."""
        spans = ((at, at) for theirs in agents.values() for _, at in theirs)
        near = TimePruner.of_spans(spans, margin=timedelta(microseconds=rules.span))
        wanted = Lookup(("visitor_id", "event_time"), near, "event_time", key=("visitor_id", agents))
        times: dict[str, list[int]] = defaultdict(list)
        for visitor, at in rows_of(self._run.lake.find(EVENTS.name, wanted), wanted.columns):
            times[visitor].append(at)
        return times

    def _known(self, table: Table, make: Any, visitors: dict[str, Any]) -> dict[str, Any]:
        wanted = Lookup(table.deterministic_columns, key=("visitor_id", visitors))
        rows = (
            rows_of(self._run.lake.find(table.name, wanted), table.deterministic_columns) if visitors else []
        )
        return {row[0]: make(*row) for row in rows}

    def _keep(self, table: Table, rows: list[Any], batch: Batch) -> None:
        if not rows:
            return
        schema = arrow_schema(table)
        stamps = {
            "ingested_at": to_micros(batch.upto),
            "rules_version": rules_version(self._run.settings.conf),
        }
        others = [name for name in table.column_names if name not in table.deterministic_columns]
        fields = [schema.field(name) for name in (*table.deterministic_columns, *others)] + [
            pa.field(DELETED, pa.bool_())
        ]
        more = (*(stamps[name] for name in others), False)
        self._run.lake.merge_changes(
            table.name, local_rows(fields, [(*row, *more) for row in rows]), batch.upto, Scope()
        )


def all_identities(events: DataFrame) -> DataFrame:
    """Compute the deterministic columns of silver.identities from all events.

    Args:
        events: `COLUMNS` of silver.events.
    """

    def fold(groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        said = groups.rows("event", tuple)
        rows = [identify_visitor(who, (each[1:] for each in theirs), None) for who, theirs in said.items()]
        yield _batch(IDENTITIES, [row for row in rows if row])

    columns = ("visitor_id", "event_time", "event_id", "user_id")
    return _spread(events.where("user_id IS NOT NULL"), columns, fold, IDENTITIES)


def all_bots(events: DataFrame, rules: BotRules) -> DataFrame:
    """Compute the deterministic columns of silver.bots from all events.

    Args:
        events: `COLUMNS` of silver.events.
        rules: the current bot rules.
    """

    def fold(groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        rows = []
        for visitor, theirs in groups.rows("event", tuple).items():
            agents = [each[1:] for each in theirs]
            rows.append(find_bot(visitor, agents, [at for _, at in agents], None, rules))
        yield _batch(BOTS, [row for row in rows if row])

    return _spread(events, ("visitor_id", "user_agent", "event_time"), fold, BOTS)


def _spread(events: DataFrame, columns: tuple[str, ...], fold: Any, table: Table) -> DataFrame:
    schema = pa.schema([arrow_schema(table).field(name) for name in table.deterministic_columns])
    kinds = {"event": with_key(events, "visitor_id", columns)}
    return Groups(kinds, fold, schema).spread(events.sparkSession)


def _batch(table: Table, rows: list[Any]) -> pa.RecordBatch:
    schema = pa.schema([arrow_schema(table).field(name) for name in table.deterministic_columns])
    return pa.RecordBatch.from_arrays(transpose(rows, list(schema)), schema=schema)


def _said(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[tuple[int, str, str]]]:
    found: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for visitor, at, event_id, user_id in rows:
        if user_id is not None:
            found[visitor].append((at, event_id, user_id))
    return dict(found)


def _agents(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[tuple[str | None, int]]]:
    found: dict[str, list[tuple[str | None, int]]] = defaultdict(list)
    for visitor, agent, at in rows:
        found[visitor].append((agent, at))
    return dict(found)
