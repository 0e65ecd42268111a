"""One micro-batch of the repair job: applies late events to rows that were written without them."""

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from folds.rule_numbers import load_rule_numbers
from folds.visitors.events import Event
from folds.visitors.rules import VisitorRules
from lakehouse.contracts import TABLES
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.silver import EVENTS, FOLDED
from lakehouse.delta.lookup import Lookup
from lakehouse.delta.merge import Scope
from lakehouse.rows.driver_or_spark import Rows, Source, computed, count_rows, on_driver
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.microbatch import Batch, Outcome
from lakehouse.run.query_tuning import SMALL_BATCH_ROWS
from lakehouse.timestamps import EPOCH, to_micros
from silver.dedup.classify import stamped_after
from silver.people.identities_and_bots import VisitorDimensions
from silver.visits.shown_results import late_results, write_results
from silver.visits.visitor_fold import TableChanges, events_of, fold_changes, fold_events
from silver.visits.visitor_history import affected_rows


class Repair:
    """Adds late events to the rows they belong to, and updates identities and bots.

    Args:
        run: the job's run.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        self._visitors = VisitorDimensions(run)
        tables = (*FOLDED, SEARCH_RESULTS)
        self._filled = {table.name: run.lake.high_water_mark(table.name) or EPOCH for table in tables}

    def __call__(self, batch: Batch) -> Outcome:
        """Fold the late events of one micro-batch into the rows that they affect."""
        source = Source(self._run.lake, on_driver=batch.rows < SMALL_BATCH_ROWS)
        stamps = TimePruner([(to_micros(batch.after) + 1, to_micros(batch.upto))])
        wanted = Lookup((*Event._fields, "ingested_at"), stamps, "ingested_at", flag="is_late")
        late = computed(events_of(source.look_up(EVENTS.name, wanted)), wanted.columns)
        new = on_driver(stamped_after(late, min(self._filled.values())))
        tasks: list[Callable[[], None]] = [partial(self._visitors, batch)]
        if new.num_rows:
            tasks.insert(0, partial(self._fold, source, late, new, batch))
        run_concurrently(tasks)
        rows = count_rows(late)
        return Outcome(output_rows=rows, late=rows, watermark=batch.upstream_watermark)

    def _fold(self, source: Source, late: Rows, new: pa.Table, batch: Batch) -> None:
        refined = Ledger(self._run.lake).last("refine")  # may be ahead of this batch
        watermark = (refined.watermark if refined else None) or EPOCH
        numbers = load_rule_numbers(self._run.settings.conf)
        history = affected_rows(source, new, numbers)
        events = stamped_after(late, min(self._filled.values()))
        rules = VisitorRules.of(numbers)
        changes = fold_changes(fold_events(events, history, rules, watermark, self._filled))
        writes = [partial(self._apply, name, each, batch) for name, each in changes.items()]
        unwritten = stamped_after(late, self._filled[SEARCH_RESULTS.name])
        results = late_results(source, unwritten, rules.searches, watermark)
        run_concurrently([*writes, partial(write_results, source, results, batch.upto)])

    def _apply(self, table: str, changes: TableChanges, batch: Batch) -> None:
        time = TABLES[table].event_time
        scope = Scope(time=time, low=to_micros(changes.low), high=to_micros(changes.high))
        self._run.lake.merge_changes(table, changes.rows, batch.upto, scope)
