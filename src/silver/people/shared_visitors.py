"""Identities of visitors with several users: they follow from all events around the new ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.visitors.identities import Identity, IdentityEvent, add_events
from lakehouse.contracts.silver import EVENTS, IDENTITIES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import Extent, checkpoint_changes
from lakehouse.rows.grouped import GroupedRows, batch_of_kind, map_groups, rows_of_kind, with_key
from lakehouse.rows.semi_join import semi_join
from lakehouse.timestamps import from_micros, span_micros
from silver.people.identities_and_bots import CHANGES, SHARED, PeopleRules, changed_rows

LOOK_BACK = timedelta(hours=3)
"""How long before the new events earlier ones are read. If a stretch is longer, all are read."""


def shared_aggregates() -> dict[str, Column]:
    """Aggregates of `CHANGES`: the number of shared visitors, and the time of their first new event."""
    return {SHARED: F.count(SHARED), "first": F.min(f"{SHARED}.at")}


@dataclass(frozen=True)
class SharedVisitors:
    """Computes identities of visitors with several users.

    Args:
        lake: the tables.
        rules: the current rules.
        stamps: values of the provenance columns of changed rows.
        upto: ingest stamp of the last events that count.
    """

    lake: Lakehouse
    rules: PeopleRules
    stamps: Mapping[str, Any]
    upto: datetime

    def add_changes(
        self, changes: DataFrame, extents: dict[str, Extent], found: Mapping[str, Any]
    ) -> tuple[DataFrame, dict[str, Extent]]:
        """Add the changes of silver.identities of shared visitors.

        Args:
            changes: `CHANGES`. Checkpointed.
            extents: of the changes.
            found: the values of `shared_aggregates` of the changes.

        Returns:
            All changes and their extents.
        """
        part = changes
        for look_back in (LOOK_BACK, None):
            if not found[SHARED]:
                break
            folded = self._changes(rows_of_kind(part, SHARED), found["first"], look_back)
            part, more, found = checkpoint_changes(folded, (IDENTITIES,), **shared_aggregates())
            extents = {**extents, IDENTITIES.name: _sum(extents[IDENTITIES.name], more[IDENTITIES.name])}
            changes = changes.unionByName(part)
        return changes, extents

    def _changes(self, shared: DataFrame, first: int, look_back: timedelta | None) -> DataFrame:
        """`CHANGES` of the shared visitors, by their events from `first - look_back` on."""
        events = self.lake.read(EVENTS.name).where(F.col("ingested_at") <= F.lit(self.upto))
        since = None if look_back is None else first - span_micros(look_back)
        if since is not None:
            events = events.where(F.col("event_time") >= F.lit(from_micros(since)))
        known = semi_join(self.lake.read(IDENTITIES.name), shared, "visitor_id")
        kinds = {
            SHARED: with_key(shared, "visitor_id", ("at",)),
            "event": with_key(
                semi_join(events, shared, "visitor_id"), "visitor_id", ("event_time", "event_id", "user_id")
            ),
            IDENTITIES.short_name: with_key(known, "visitor_id", IDENTITIES.deterministic_columns),
        }
        return map_groups(kinds, _SharedFold(self.rules.gap, self.stamps, since), CHANGES)


@dataclass(frozen=True)
class _SharedFold:
    """The fold, as Spark's Python workers run it.

    Args:
        gap: the session gap, in microseconds.
        stamps: values of the provenance columns of changed rows; times in microseconds.
        since: the events are those from this time on; None if they are all events of the visitors.
    """

    gap: int
    stamps: Mapping[str, Any]
    since: int | None

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        events, known = groups.rows("event", IdentityEvent), groups.rows(IDENTITIES.short_name, Identity)
        before: list[Identity] = []
        after: list[Identity] = []
        unknown = []
        for visitor, (new,) in groups.rows(SHARED, _time).items():
            theirs = known.get(visitor, ())
            found = add_events(visitor, events.get(visitor, ()), theirs, self.gap, self.since, new)
            if found is None:
                unknown.append((visitor, new))
            else:
                before += theirs
                after += found
        yield from changed_rows(IDENTITIES, before, after, self.stamps, CHANGES)
        if unknown:
            yield batch_of_kind(CHANGES, SHARED, unknown)


def _time(at: int) -> int:
    return at


def _sum(one: Extent, other: Extent) -> Extent:
    return Extent(one.rows + other.rows, one.replaced + other.replaced, [*one.hours, *other.hours])
