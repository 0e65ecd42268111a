"""Runs the visitor fold over one partition: Arrow batches in, changes of three tables out."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import pyarrow as pa

from folds.visitors.changes import Changes, VisitorStory, all_changes
from folds.visitors.fold import VisitorRows
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.exposures import IMPRESSIONS, SEARCHES
from lakehouse.contracts.silver import FOLDED, SESSIONS
from silver.visits.visitor_arrow import arrow_type, read_events, read_table, write_table

EVENT = "event"
FIELDS = {SESSIONS.name: "session", IMPRESSIONS.name: "impression", SEARCHES.name: "search"}
CHUNK = 200_000
"""Number of a visitor's events and rows after which they are folded before more are read."""


_VISITOR = attrgetter("visitor_id")


@dataclass(frozen=True)
class FoldPartition:
    """Folds a partition that is sorted by visitor_id and `at`.

    A row has one of the structs `event`, `session`, `impression` and `search`; the others are null.

    Args:
        rules: of sessions and exposures.
        watermark: in microseconds.
        filled: high-water mark (ingest stamp) of each table, in the order of `FOLDED`.
        gone: name of the column that marks deleted rows.
    """

    rules: VisitorRules
    watermark: int
    filled: tuple[int, int, int]
    gone: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each table's changes as structs `session`, `impression` or `search`, with the delete flag."""
        last: VisitorStory | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            changes = []
            if last and last.size > CHUNK and batch.column("visitor_id")[0].as_py() == last.visitor:
                since = batch.column("at").cast(pa.int64())[0].as_py()
                changes.append(last.fold_until(since, self.rules, self.watermark))
            *stories, last = self._read(batch, last)
            changes += [story.fold(self.rules, self.watermark) for story in stories]
            yield from self._write(all_changes(changes))
        if last:
            yield from self._write(last.fold(self.rules, self.watermark))

    def _read(self, batch: pa.RecordBatch, last: VisitorStory | None) -> list[VisitorStory]:
        """Group a batch's rows by visitor, in order. Only the last visitor may continue in the next batch."""
        stories = {last.visitor: last} if last else {}
        for visitor in batch.column("visitor_id").unique().to_pylist():
            if visitor not in stories:
                stories[visitor] = VisitorStory(visitor)
        first, second, third = self.filled
        for event, stamp in zip(*read_events(_present(batch, EVENT)), strict=True):
            stories[event.visitor_id].add_event(event, (stamp > first, stamp > second, stamp > third))
        for table in FOLDED:
            for visitor, rows in groupby(read_table(table, _present(batch, FIELDS[table.name])), _VISITOR):
                stories[visitor].add_rows(VisitorRows(**{table.name.split(".")[1]: list(rows)}))
        return list(stories.values())

    def _write(self, changes: Changes) -> Iterator[pa.RecordBatch]:
        for rows, gone in ((changes.upserts, False), (changes.deletes, True)):
            for place, table in enumerate(FOLDED):
                if rows[place]:
                    yield self._one_table(place, write_table(table, rows[place]), gone)

    def _one_table(self, place: int, structs: pa.StructArray, gone: bool) -> pa.RecordBatch:
        count = len(structs)
        columns = [
            structs if place == other else pa.nulls(count, arrow_type(table))
            for other, table in enumerate(FOLDED)
        ]
        names = [*FIELDS.values(), self.gone]
        return pa.RecordBatch.from_arrays([*columns, pa.array([gone] * count, pa.bool_())], names)


def _present(batch: pa.RecordBatch, field: str) -> pa.StructArray:
    structs = batch.column(field)
    return structs.filter(structs.is_valid())
