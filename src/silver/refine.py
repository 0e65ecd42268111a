"""One micro-batch of the refine job: classifies records and updates the silver tables."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

import pyarrow as pa

from folds.records.parse_rules import ParseRules
from folds.rule_numbers import load_rule_numbers
from folds.visitors.events import Event
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, EXCHANGE_RATES, FOLDED, REJECTED_EVENTS
from lakehouse.delta.count_by_stamp import count_by_stamp
from lakehouse.delta.merge import Scope
from lakehouse.rows.driver_or_spark import Rows, Source, computed, on_driver
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import Batch, Outcome
from lakehouse.run.query_tuning import SMALL_BATCH_ROWS
from lakehouse.timestamps import EPOCH
from silver.dedup.classification import DUPLICATE, EVENT, HEARTBEAT, RATE, REJECTED
from silver.dedup.classify import (
    Counts,
    classify,
    count_records,
    dedup_candidates,
    on_time_events,
    records_of_class,
    stamped_after,
)
from silver.dedup.deduplicate import find_duplicates
from silver.dedup.uid_index import UidIndex
from silver.exchange_rates import upsert_rates
from silver.parsing.read_ahead import ReadAhead
from silver.parsing.record_parser import RecordParser
from silver.visits.result_fold import EVENT_COLUMNS
from silver.visits.shown_results import results_on_time, write_results
from silver.visits.visitor_fold import TableChanges, events_of, fold_changes, fold_events
from silver.visits.visitor_history import open_rows
from silver.watermark import Progress, advance

_OUTPUTS = ((EVENTS.name, EVENT), (REJECTED_EVENTS.name, REJECTED), (DUPLICATE_EVENTS.name, DUPLICATE))
_FOLDED_COLUMNS = (*dict.fromkeys((*Event._fields, *EVENT_COLUMNS)), "ingested_at")


class Refine:
    """Processes micro-batches of bronze.

    Args:
        run: the job's run.
        rules: loads roles and channels. It is called for each micro-batch, so that a rule change applies to
            all later events.
    """

    def __init__(self, run: JobContext, rules: Callable[[], ParseRules]) -> None:
        self._run = run
        self._rules = rules
        self._parser: RecordParser | None = None
        self._records = ReadAhead(run.lake)
        run_concurrently([self._ask_rules, self._remember, self._ask_tables])

    @property
    def processed_through(self) -> datetime:
        """High-water mark of the most advanced table, when the job started."""
        return max(self._filled.values())

    def __call__(self, batch: Batch) -> Outcome:
        """Process one micro-batch. After a crash, tables that already have it are skipped."""
        source = Source(self._run.lake, on_driver=batch.rows < SMALL_BATCH_ROWS)
        candidates = self._records.candidates(batch, self._ask_rules(), source.on_driver)
        classified = classify(candidates, self._find_copies(candidates, batch.after), batch.watermark)
        counts = count_records(classified, self._run.settings.exchange_rates_topic)
        if counts.by_class[RATE]:
            rates = self._unwritten(EXCHANGE_RATES.name, records_of_class(classified, RATE))
            upsert_rates(self._run.lake, rates, batch.upto)
        outcome = self._sum_up(classified, counts, batch)
        self._write(source, classified, counts, batch, outcome.watermark)
        return outcome

    def _ask_rules(self) -> RecordParser:
        """Return the parser for the current rules."""
        rules = self._rules()
        if self._parser is None or rules != self._parser.rules:
            self._parser = RecordParser(rules, self._run.settings.exchange_rates_topic)
        return self._parser

    def _ask_tables(self) -> None:
        """Read the high-water mark of each table; a missing table is created."""
        folded = (*FOLDED, SEARCH_RESULTS, EXCHANGE_RATES)
        names = (*(name for name, _ in _OUTPUTS), *(table.name for table in folded))
        self._filled = {name: self._run.lake.high_water_mark(name) or EPOCH for name in names}

    def _find_copies(self, candidates: Rows, after: datetime) -> pa.Table:
        if self._run.lake.rewrite_count(EVENTS.name) != self._rewrites:
            self._remember()
        return find_duplicates(*self._seen.lookup(on_driver(dedup_candidates(candidates)), after))

    def _remember(self) -> None:
        lake = self._run.lake
        self._rewrites = lake.rewrite_count(EVENTS.name)
        self._seen = UidIndex(partial(lake.find, EVENTS.name), count_by_stamp(lake, EVENTS.name))

    def _sum_up(self, classified: Rows, counts: Counts, batch: Batch) -> Outcome:
        """The ledger row of the batch."""
        before = Progress(batch.watermark, batch.producers)
        progress = advance(before, classified, counts, self._run.settings.watermark_delay)
        return Outcome(
            input_rows=counts.read,
            output_rows=counts.by_class[EVENT],
            duplicates=counts.by_class[DUPLICATE],
            rejected=counts.refused,
            heartbeats=counts.by_class[HEARTBEAT],
            late=counts.late,
            watermark=progress.watermark,
            producers=progress.producers,
        )

    def _write(
        self, source: Source, classified: Rows, counts: Counts, batch: Batch, watermark: datetime | None
    ) -> None:
        outputs = [(name, record_class) for name, record_class in _OUTPUTS if counts.by_class[record_class]]
        writes = [
            partial(self._append, classified, name, record_class, batch) for name, record_class in outputs
        ]
        if watermark is not None:
            writes.append(partial(self._change_rows, source, classified, batch, watermark))
        run_concurrently(writes)

    def _append(self, classified: Rows, name: str, record_class: str, batch: Batch) -> None:
        rows = self._unwritten(name, records_of_class(classified, record_class))
        self._run.lake.append(name, rows, upto=batch.upto)

    def _change_rows(self, source: Source, classified: Rows, batch: Batch, watermark: datetime) -> None:
        """Apply on-time events and the watermark to open rows."""
        since = min(self._filled[table.name] for table in (*FOLDED, SEARCH_RESULTS))
        events = events_of(on_time_events(classified, _FOLDED_COLUMNS))
        on_time = computed(stamped_after(events, since), _FOLDED_COLUMNS)
        rules = VisitorRules.of(load_rule_numbers(self._run.settings.conf))
        both = (self._fold, self._update_results)
        run_concurrently([partial(each, source, on_time, batch, rules, watermark) for each in both])

    def _fold(
        self, source: Source, on_time: Rows, batch: Batch, rules: VisitorRules, watermark: datetime
    ) -> None:
        filled = {table.name: self._filled[table.name] for table in FOLDED}
        history = open_rows(source, on_time, watermark)
        changes = fold_changes(fold_events(on_time, history, rules, watermark, filled))
        run_concurrently([partial(self._apply, name, each, batch) for name, each in changes.items()])

    def _update_results(
        self, source: Source, on_time: Rows, batch: Batch, rules: VisitorRules, watermark: datetime
    ) -> None:
        new = self._unwritten(SEARCH_RESULTS.name, on_time)
        changes = results_on_time(source, new, batch.after, rules.searches, watermark)
        write_results(source, changes, batch.upto)

    def _apply(self, table: str, changes: TableChanges, batch: Batch) -> None:
        self._run.lake.merge_changes(table, changes.rows, batch.upto, Scope(flag="is_open"))

    def _unwritten(self, name: str, rows: Rows) -> Rows:
        return stamped_after(rows, self._filled[name])
