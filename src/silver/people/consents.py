"""Consents of visitors whose new events state something else than what is known of their times."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.consent_rules import ConsentRules
from folds.visitors.consents import Consent, Statement, add_statements
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import Extent, checkpoint_changes
from lakehouse.rows.grouped import GroupedRows, map_groups, rows_of_kind, with_key
from lakehouse.rows.semi_join import semi_join
from lakehouse.timestamps import from_micros
from silver.people.identities_and_bots import CHANGES, RECOMPUTED, STATED, changed_rows

_FIRST = "recomputed_from"


def recomputed_aggregates() -> dict[str, Column]:
    """Aggregates of `CHANGES`: the number of recomputed visitors, and the first time from which they are."""
    return {RECOMPUTED: F.count(RECOMPUTED), _FIRST: F.min(f"{RECOMPUTED}.at")}


@dataclass(frozen=True)
class RecomputedConsents:
    """Computes silver.consents of visitors again, each from the time of a new statement on.

    Earlier statements are not read: what held before that time is in the known spans.

    Args:
        lake: the tables.
        rules: the rules in force.
        stamps: values of the provenance columns of changed rows; times in microseconds.
        upto: ingest stamp of the last events that count.
    """

    lake: Lakehouse
    rules: ConsentRules
    stamps: Mapping[str, Any]
    upto: datetime

    def add_changes(
        self, changes: DataFrame, extents: dict[str, Extent], found: Mapping[str, Any]
    ) -> tuple[DataFrame, dict[str, Extent]]:
        """Add the changes of silver.consents.

        Args:
            changes: `CHANGES`. Checkpointed.
            extents: of the changes.
            found: the values of `recomputed_aggregates` of the changes.

        Returns:
            All changes and their extents.
        """
        if not found[RECOMPUTED]:
            return changes, extents
        folded = self._changes(rows_of_kind(changes, RECOMPUTED), found[_FIRST])
        part, more, _ = checkpoint_changes(folded, (CONSENTS,))
        return changes.unionByName(part), {**extents, **more}

    def _changes(self, recomputed: DataFrame, first: int) -> DataFrame:
        """`CHANGES` of the recomputed visitors, by their statements from `first` on."""
        says = reduce(or_, (F.col(name).isNotNull() for name in STATED))
        is_later = F.col("event_time") >= F.lit(from_micros(first))
        events = self.lake.read(EVENTS.name).where((F.col("ingested_at") <= F.lit(self.upto)) & is_later)
        known = semi_join(self.lake.read(CONSENTS.name), recomputed, "visitor_id")
        columns = ("event_time", "event_id", *STATED)
        kinds = {
            RECOMPUTED: with_key(recomputed, "visitor_id", ("at",)),
            "event": with_key(semi_join(events.where(says), recomputed, "visitor_id"), "visitor_id", columns),
            CONSENTS.short_name: with_key(known, "visitor_id", CONSENTS.deterministic_columns),
        }
        return map_groups(kinds, _RecomputedFold(self.rules, self.stamps), CHANGES)


@dataclass(frozen=True)
class _RecomputedFold:
    """The fold, as Spark's Python workers run it.

    Args:
        rules: the rules in force.
        stamps: values of the provenance columns of changed rows; times in microseconds.
    """

    rules: ConsentRules
    stamps: Mapping[str, Any]

    def __call__(self, groups: GroupedRows) -> Iterator[pa.RecordBatch]:
        said, known = groups.rows("event", Statement), groups.rows(CONSENTS.short_name, Consent)
        before: list[Consent] = []
        after: list[Consent] = []
        for visitor, (since,) in groups.rows(RECOMPUTED, _time).items():
            theirs = known.get(visitor, [])
            before += theirs
            after += add_statements(visitor, said.get(visitor, ()), theirs, self.rules, since)
        yield from changed_rows(CONSENTS, before, after, self.stamps, CHANGES)


def _time(at: int) -> int:
    return at
