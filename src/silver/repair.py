"""One micro-batch of the repair job: late events, identities, bots and consents."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.rule_numbers import RuleNumbers, load_rule_numbers
from folds.visitors.events import Event
from folds.visitors.results import RESULT_ROLES
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.silver import EVENTS, FOLDED
from lakehouse.delta.write_changes import checkpoint_changes, write_changes, write_kind
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.time_pruner import TimePruner, hours_between
from lakehouse.run.batch_source import Batch
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Ledger
from lakehouse.run.microbatch import Outcome, stamped_within
from lakehouse.run.rules_version import rules_version
from lakehouse.timestamps import EPOCH
from silver.dedup.classify import stamped_after
from silver.people.consents import RecomputedConsents, recomputed_aggregates
from silver.people.identities_and_bots import (
    COLUMNS,
    DIMENSIONS,
    PeopleRules,
    dimension_changes,
    stamps_of,
)
from silver.people.shared_visitors import SharedVisitors, shared_aggregates
from silver.visits.shown_results import late_results
from silver.visits.visit_fold import events_of, fold_visits
from silver.visits.visit_history import affected_rows

_READ = tuple(dict.fromkeys((*Event._fields, *COLUMNS, "is_late", "ingested_at")))


class Repair:
    """Adds late events to the rows they belong to, and updates identities, bots and consents.

    Args:
        run: the job's run.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        tables = (*FOLDED, SEARCH_RESULTS)
        self._filled = {table.name: run.lake.high_water_mark(table.name) or EPOCH for table in tables}

    def __call__(self, batch: Batch) -> Outcome:
        """Fold the events of one micro-batch into the rows that they affect."""
        events = self._run.lake.read(EVENTS.name).where(stamped_within(batch.after, batch.upto))
        at = F.unix_micros("event_time")
        of_result = F.when(F.col("is_late") & F.col("role").isin(*RESULT_ROLES), at)
        events, found = checkpoint_with(
            events.select(*_READ),
            late=F.count_if("is_late"),
            hours=hours_between(at, at),
            of_results=hours_between(of_result, of_result),
        )
        tasks: list[Callable[[], None]] = [partial(self._write_dimensions, events, found["hours"], batch)]
        if found["late"]:
            late = events.where("is_late")
            tasks.insert(0, partial(self._write_visits, late, batch))
            tasks.append(partial(self._write_results, late, found["of_results"], batch))
        run_concurrently(tasks)
        return Outcome(output_rows=found["late"], late=found["late"], watermark=batch.upstream_watermark)

    def _write_visits(self, late: DataFrame, batch: Batch) -> None:
        lake, filled = self._run.lake, {table.name: self._filled[table.name] for table in FOLDED}
        events = stamped_after(events_of(late), min(filled.values()))
        history = affected_rows(lake, events, self._numbers())
        rules = VisitorRules.of(self._numbers())
        folded = fold_visits(events, history, rules, self._watermark(), filled)
        changes, extents, _ = checkpoint_changes(folded, FOLDED)
        run_concurrently([partial(write_kind, lake, each, changes, extents, batch.upto) for each in FOLDED])

    def _write_results(self, late: DataFrame, hours: list[list[int]], batch: Batch) -> None:
        rule = VisitorRules.of(self._numbers()).searches
        near = TimePruner.of_hours(hours, timedelta(microseconds=rule.span))
        unwritten = stamped_after(late, self._filled[SEARCH_RESULTS.name])
        changes = late_results(self._run.lake, unwritten, near, rule, self._watermark())
        write_changes(self._run.lake, SEARCH_RESULTS, changes, batch.upto)

    def _write_dimensions(self, events: DataFrame, hours: list[list[int]], batch: Batch) -> None:
        lake, conf = self._run.lake, self._run.settings.conf
        rules = PeopleRules.load(conf)
        near = TimePruner.of_hours(hours, timedelta(microseconds=rules.bots.span))
        stamps = stamps_of(batch.upto, rules_version(conf))
        folded = dimension_changes(lake, events, near, rules, stamps)
        changes, extents, found = checkpoint_changes(
            folded, DIMENSIONS, **shared_aggregates(), **recomputed_aggregates()
        )
        shared = SharedVisitors(lake, rules, stamps, batch.upto)
        recomputed = RecomputedConsents(lake, rules.consent, stamps, batch.upto)
        for more in (shared, recomputed):
            changes, extents = more.add_changes(changes, extents, found)
        run_concurrently(
            [partial(write_kind, lake, each, changes, extents, batch.upto) for each in DIMENSIONS]
        )

    def _watermark(self) -> datetime:
        """Refine's current watermark, which may be ahead of this batch."""
        refined = Ledger(self._run.lake).last("refine")
        return (refined.watermark if refined else None) or EPOCH

    def _numbers(self) -> RuleNumbers:
        return load_rule_numbers(self._run.settings.conf)
