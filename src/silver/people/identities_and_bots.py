"""The fold over visitors for silver.identities, silver.bots and silver.consents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from folds.consent_rules import ConsentRules, load_consent_rules
from folds.rule_numbers import load_rule_numbers
from folds.visitors.bots import Bot, BotRules, Sender, find_bot, load_bot_rules
from folds.visitors.consents import Consent, Statement, find_consents, first_unknown
from folds.visitors.identities import Identity, IdentityEvent, add_logins, find_identities
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.contracts.consents import CONSENTS, PURPOSES
from lakehouse.contracts.silver import BOTS, EVENTS, IDENTITIES
from lakehouse.contracts.table import Table
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import change_type
from lakehouse.rows.arrow_frames import transpose
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, with_key
from lakehouse.rows.row_changes import RowDiff
from lakehouse.rows.semi_join import semi_join
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.timestamps import span_micros, to_micros

STATED = tuple(f"consent_{purpose}" for purpose in PURPOSES)
COLUMNS = ("user_id", "user_agent", "library", "event_time", "event_id", *STATED)
"""Columns of silver.events that the tables are computed from, with visitor_id as the key."""

DIMENSIONS = (IDENTITIES, BOTS, CONSENTS)
SHARED, RECOMPUTED = "shared", "recomputed"
_FIRST_EVENT = pa.struct([("visitor_id", pa.string()), ("at", pa.int64())])
CHANGES = pa.schema(
    [
        *(pa.field(table.short_name, change_type(table)) for table in DIMENSIONS),
        pa.field(SHARED, _FIRST_EVENT),
        pa.field(RECOMPUTED, _FIRST_EVENT),
    ]
)


class PeopleRules(NamedTuple):
    """Rules of identities, bots and consents.

    Args:
        bots: the bot rules.
        gap: the session gap, which splits a visitor's events into stretches; in microseconds.
        consent: the purposes of consent.
    """

    bots: BotRules
    gap: int
    consent: ConsentRules

    @classmethod
    def load(cls, conf: Path) -> "PeopleRules":
        """Read conf/."""
        gap = span_micros(load_rule_numbers(conf).session_gap)
        return cls(load_bot_rules(conf), gap, load_consent_rules(conf))


def dimension_changes(
    lake: Lakehouse, events: DataFrame, near: TimePruner, rules: PeopleRules, stamps: Mapping[str, Any]
) -> DataFrame:
    """Merge new events into the rows of their visitors.

    The order of events does not matter, and a repeated batch after a crash has no effect.

    Args:
        lake: the tables.
        events: visitor_id and `COLUMNS` of the new events, late ones included.
        near: contains the times within the rate window around new events.
        rules: the current rules.
        stamps: values of the provenance columns of changed rows.

    Returns:
        `CHANGES`: a struct per table, `shared` and `recomputed`, of which one is not null; not computed yet.
        `shared` is a visitor with several users, and the time of its first new event in microseconds: its
        identities follow from earlier events too, see `silver.people.shared_visitors`. `recomputed` is a
        visitor whose consents change, and the time from which they do: see `silver.people.consents`.
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


def all_rows(events: DataFrame, table: Table, rules: PeopleRules) -> DataFrame:
    """Compute the deterministic columns of one of the tables from all events.

    Args:
        events: visitor_id and `COLUMNS` of silver.events.
        table: one of `DIMENSIONS`.
        rules: the current rules.
    """
    schema = pa.schema([arrow_schema(table).field(name) for name in table.deterministic_columns])
    kinds = {"event": with_key(events, "visitor_id", COLUMNS)}
    return map_groups(kinds, _AllRows(table, rules, schema), schema)


@dataclass(frozen=True)
class _DimensionFold:
    """The fold, as Spark's Python workers run it.

    Args:
        rules: the current rules.
        stamps: values of the provenance columns of changed rows; times in microseconds.
    """

    rules: PeopleRules
    stamps: Mapping[str, Any]

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        known = groups.rows(IDENTITIES.short_name, Identity)
        before: list[Identity] = []
        after: list[Identity] = []
        shared = []
        for visitor, events in _identity_events(groups).items():
            found = add_logins(visitor, events, known.get(visitor, ()))
            if found is None:
                shared.append((visitor, min(each.at for each in events)))
            else:
                before += known.get(visitor, ())
                after += found
        yield from changed_rows(IDENTITIES, before, after, self.stamps, CHANGES)
        of_bots = [row for rows in groups.rows(BOTS.short_name, Bot).values() for row in rows]
        yield from changed_rows(BOTS, of_bots, _find_bots(groups, self.rules), self.stamps, CHANGES)
        for kind, visitors in ((SHARED, shared), (RECOMPUTED, self._recomputed(groups))):
            if visitors:
                yield batch_of_kind(CHANGES, kind, visitors)

    def _recomputed(self, groups: GroupedRows) -> list[tuple[str, int]]:
        known = groups.rows(CONSENTS.short_name, Consent)
        first = {
            visitor: first_unknown(said, known.get(visitor, ()), self.rules.consent)
            for visitor, said in _statements(groups).items()
        }
        return [(visitor, at) for visitor, at in first.items() if at is not None]


def changed_rows(
    table: Table,
    before: Sequence[Any],
    after: Sequence[Any],
    stamps: Mapping[str, Any],
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Changes of a table as `change_type`, in at most one batch.

    Args:
        table: the table. Its provenance columns come last.
        before: known rows of some visitors: their deterministic columns.
        after: all rows of the same visitors.
        stamps: values of the provenance columns.
        schema: of the batch.
    """
    more = tuple(stamps[name] for name in table.column_names if name not in table.deterministic_columns)
    changes = RowDiff(table).compare(before, after)
    if changes:
        rows = [(*each.row, *more, each.is_deleted, each.old_time) for each in changes]
        yield batch_of_kind(schema, table.short_name, rows)


@dataclass(frozen=True)
class _AllRows:
    """Computes all rows of one table."""

    table: Table
    rules: PeopleRules
    schema: pa.Schema

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        rows: list[Any]
        if self.table.name == BOTS.name:  # a worker has its own copy of the contract
            rows = _find_bots(groups, self.rules)
        elif self.table.name == CONSENTS.name:
            said = _statements(groups).items()
            rows = [row for each in said for row in find_consents(*each, self.rules.consent)]
        else:
            found = (find_identities(*each, self.rules.gap) for each in _identity_events(groups).items())
            rows = [row for theirs in found for row in theirs]
        yield pa.RecordBatch.from_arrays(transpose(rows, list(self.schema)), schema=self.schema)


def _identity_events(groups: GroupedRows) -> dict[str, list[IdentityEvent]]:
    return {
        visitor: [IdentityEvent(at, event_id, user) for user, _, _, at, event_id, *_ in events]
        for visitor, events in groups.rows("event", tuple).items()
    }


def _statements(groups: GroupedRows) -> dict[str, list[Statement]]:
    """What events state; events that state nothing are left out."""
    every = {
        visitor: [Statement(*row[3:]) for row in events]
        for visitor, events in groups.rows("event", tuple).items()
    }
    return {visitor: [each for each in said if each.states_anything] for visitor, said in every.items()}


def _find_bots(groups: GroupedRows, rules: PeopleRules) -> list[Bot]:
    known = {visitor: rows[0] for visitor, rows in groups.rows(BOTS.short_name, Bot).items()}
    near, found = groups.rows("time", _time), []
    for visitor, events in groups.rows("event", tuple).items():
        senders = [Sender(agent, library, at) for _, agent, library, at, *_ in events]
        times = near.get(visitor) or [sender.at for sender in senders]
        if bot := find_bot(visitor, senders, times, known.get(visitor), rules.bots):
            found.append(bot)
    return found


def _time(at: int) -> int:
    return at


def stamps_of(upto: datetime, rules_version: str) -> dict[str, Any]:
    """Values of the provenance columns of rows that a micro-batch changes."""
    return {"ingested_at": to_micros(upto), "rules_version": rules_version}
