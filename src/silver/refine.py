"""One micro-batch of the refine job: bronze records to events, sessions, impressions and searches."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.records.parse_rules import ParseRules
from folds.rule_numbers import RuleNumbers, load_rule_numbers
from folds.visitors.events import Event
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.costs import CAMPAIGN_COSTS, COST_RECORDS
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.ops import ERASED_RECORDS
from lakehouse.contracts.silver import (
    DUPLICATE_EVENTS,
    EVENTS,
    EXCHANGE_RATES,
    FOLDED,
    REJECTED_EVENTS,
    SESSIONS,
)
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.delta.write_changes import checkpoint_changes, write_changes, write_kind
from lakehouse.erasure.blank_records import blank_records
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.time_pruner import TimePruner
from lakehouse.run.batch_source import Batch
from lakehouse.run.concurrent import run_concurrently, run_in_order
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import Outcome, stamped_within
from lakehouse.timestamps import EPOCH
from silver.campaign_costs import affected_days, cost_changes
from silver.dedup.classification import COST, DUPLICATE, ERASED, EVENT, HEARTBEAT, RATE, REJECTED
from silver.dedup.classify import (
    Counts,
    arrived_records,
    classify,
    count_records,
    dedup_candidates,
    on_time_events,
    records_of_class,
    stamped_after,
)
from silver.dedup.deduplicate import PLACE, find_duplicates
from silver.dedup.erased import ErasedRecords
from silver.exchange_rates import rate_changes
from silver.parsing.record_parser import RecordParser, naming_missing_packages
from silver.visits.result_fold import EVENT_COLUMNS
from silver.visits.shown_results import results_on_time
from silver.visits.visit_fold import events_of, fold_visits
from silver.visits.visit_history import open_rows, recent_sessions
from silver.watermark import Progress, advance

_OUTPUTS = ((EVENTS.name, EVENT), (REJECTED_EVENTS.name, REJECTED), (DUPLICATE_EVENTS.name, DUPLICATE))
_FOLDED_COLUMNS = (*dict.fromkeys((*Event._fields, *EVENT_COLUMNS)), "ingested_at")


def high_water_marks(lake: Lakehouse) -> dict[str, datetime]:
    """By table, the ingest stamp through which it has refine's input; `lake` is that of the job refine."""
    folded = (*FOLDED, SEARCH_RESULTS, EXCHANGE_RATES, COST_RECORDS, CAMPAIGN_COSTS)
    names = (*(name for name, _ in _OUTPUTS), *(table.name for table in folded))
    return {name: lake.high_water_mark(name) or EPOCH for name in names}


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
        self._filled = high_water_marks(run.lake)
        self._erased = ErasedRecords(run.lake)

    @property
    def processed_through(self) -> datetime:
        """High-water mark of the most advanced table, when the job started."""
        return max(self._filled.values())

    def __call__(self, batch: Batch) -> Outcome:
        """Process one micro-batch. After a crash, tables that already have it are skipped."""
        lake, settings = self._run.lake, self._run.settings
        parser = RecordParser(self._rules(), settings.side_topics)
        records = lake.read(KAFKA_RECORDS.name).where(stamped_within(batch.after, batch.upto))
        records = records.where(F.col("topic") != settings.shop_changes_topic)
        with naming_missing_packages():
            candidates = checkpoint(parser.parse(records))
        if not self._erased.is_empty:
            candidates = checkpoint(self._erased.mark_batch(candidates))
        copies = find_duplicates(dedup_candidates(candidates), lake.read(EVENTS.name), batch.after)
        classes = classify(candidates, F.broadcast(copies), F.lit(batch.watermark))
        classified, counts = count_records(classes, settings.side_topics)
        before = Progress(batch.watermark, batch.producers)
        progress = advance(before, classified, counts, settings.watermark_delay)
        run_concurrently(self._writes(classified, counts, batch, progress.watermark))
        return _outcome(counts, progress)

    def _writes(
        self, classified: DataFrame, counts: Counts, batch: Batch, watermark: datetime | None
    ) -> list[Callable[[], None]]:
        """The writes of the batch: tasks that are independent of each other."""
        writes: list[Callable[[], None]] = [
            partial(self._append, classified, name, record_class, batch)
            for name, record_class in _OUTPUTS
            if counts.by_class[record_class]
        ]
        if watermark is not None:
            on_time = on_time_events(classified, _FOLDED_COLUMNS)
            recent = self._recent_sessions(on_time, batch)
            results = partial(self._write_results, on_time, counts, batch, watermark)
            # repair computes search results from silver.events, which may not be behind them
            events = [writes.pop(0)] if counts.by_class[EVENT] else []
            writes.insert(0, partial(self._write_visits, on_time, recent, batch, watermark))
            writes.insert(1, partial(run_in_order, [*events, results]))
        if counts.by_class[ERASED]:
            writes.append(partial(self._erase, classified, batch))
        if counts.by_class[RATE] or counts.by_class[COST]:
            writes.append(partial(self._write_rates_and_costs, classified, counts, batch))
        return writes

    def _append(self, classified: DataFrame, name: str, record_class: str, batch: Batch) -> None:
        rows = self._unwritten(name, records_of_class(classified, record_class))
        self._run.lake.append(name, rows, upto=batch.upto)

    def _erase(self, classified: DataFrame, batch: Batch) -> None:
        """List records of erased UIDs and identities, and remove their content from bronze."""
        lake, rows = self._run.lake, checkpoint(arrived_records(classified))
        known = F.broadcast(lake.read(ERASED_RECORDS.name).where(stamped_within(batch.after, batch.upto)))
        new = rows.join(known, list(PLACE), "left_anti")
        lake.append(ERASED_RECORDS.name, new, upto=batch.upto)
        blank_records(lake, rows, batch.upto)

    def _recent_sessions(self, on_time: DataFrame, batch: Batch) -> DataFrame:
        span = self._numbers().continuation_span
        return recent_sessions(self._run.lake, on_time.select("visitor_id"), batch.watermark, span)

    def _write_visits(self, on_time: DataFrame, recent: DataFrame, batch: Batch, watermark: datetime) -> None:
        """Apply on-time events and the watermark to open sessions, impressions and searches."""
        lake, filled = self._run.lake, {table.name: self._filled[table.name] for table in FOLDED}
        events = stamped_after(events_of(on_time), min(filled.values()))
        history = open_rows(lake, events, watermark)
        history[SESSIONS.name] = history[SESSIONS.name].unionByName(recent)
        folded = fold_visits(events, history, self._visitor_rules(), watermark, filled)
        changes, extents, _ = checkpoint_changes(folded, FOLDED)
        run_concurrently([partial(write_kind, lake, each, changes, extents, batch.upto) for each in FOLDED])

    def _write_results(self, on_time: DataFrame, counts: Counts, batch: Batch, watermark: datetime) -> None:
        """Apply on-time events and the watermark to shown search results."""
        rule = self._visitor_rules().searches
        new = self._unwritten(SEARCH_RESULTS.name, on_time)
        near = TimePruner.of_hours(counts.hours, timedelta(microseconds=rule.span))
        changes = results_on_time(self._run.lake, new, near, batch.after, rule, watermark)
        write_changes(self._run.lake, SEARCH_RESULTS, changes, batch.upto)

    def _write_rates_and_costs(self, classified: DataFrame, counts: Counts, batch: Batch) -> None:
        """Write rates, then costs, which are converted with them."""
        lake, settings = self._run.lake, self._run.settings
        if counts.by_class[RATE]:
            self._write_rates(classified, batch)
        if counts.by_class[COST]:
            self._append(classified, COST_RECORDS.name, COST, batch)
        sent, known, rates = map(lake.read, (COST_RECORDS.name, CAMPAIGN_COSTS.name, EXCHANGE_RATES.name))
        new = records_of_class(classified, COST)
        new_rates = rates.where(stamped_within(batch.after, batch.upto))
        days = checkpoint(affected_days(new, known, new_rates, settings.business_time_zone))
        changes = cost_changes(sent, known, rates, settings, days)
        write_changes(lake, CAMPAIGN_COSTS, changes, batch.upto)

    def _write_rates(self, classified: DataFrame, batch: Batch) -> None:
        accepted = self._unwritten(EXCHANGE_RATES.name, records_of_class(classified, RATE))
        changes = rate_changes(accepted, self._run.lake.read(EXCHANGE_RATES.name))
        write_changes(self._run.lake, EXCHANGE_RATES, changes, batch.upto)

    def _visitor_rules(self) -> VisitorRules:
        return VisitorRules.of(self._numbers())

    def _numbers(self) -> RuleNumbers:
        return load_rule_numbers(self._run.settings.conf)

    def _unwritten(self, name: str, rows: DataFrame) -> DataFrame:
        return stamped_after(rows, self._filled[name])


def _outcome(counts: Counts, progress: Progress) -> Outcome:
    """The ledger row of a batch."""
    return Outcome(
        input_rows=counts.read,
        output_rows=counts.by_class[EVENT],
        duplicates=counts.by_class[DUPLICATE],
        rejected=counts.refused,
        heartbeats=counts.by_class[HEARTBEAT],
        erased=counts.by_class[ERASED],
        late=counts.late,
        watermark=progress.watermark,
        producers=progress.producers,
    )
