"""Rebuild definitions of the silver tables, computed from bronze."""

from collections.abc import Callable
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from folds.records.parse_rules import load_parse_rules
from folds.rule_numbers import load_rule_numbers
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.costs import CAMPAIGN_COSTS, COST_RECORDS
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.silver import (
    BOTS,
    DUPLICATE_EVENTS,
    EVENTS,
    EXCHANGE_RATES,
    FOLDED,
    IDENTITIES,
    REJECTED_EVENTS,
)
from lakehouse.contracts.table import Table
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import NAME as LEDGER
from lakehouse.run.ledger import Ledger
from lakehouse.run.rebuild import TableDefinition, processed_through
from lakehouse.run.rules_version import rules_version
from lakehouse.run.side_topics import require_side_topics
from lakehouse.timestamps import EPOCH
from silver.campaign_costs import cost_changes
from silver.dedup.classification import COST, DUPLICATE, EVENT, RATE, REJECTED
from silver.dedup.classify import classify, dedup_candidates, records_of_class
from silver.dedup.deduplicate import mark_duplicates
from silver.dedup.erased import ErasedRecords
from silver.exchange_rates import rate_changes
from silver.old_records import require_content
from silver.parsing.record_parser import RecordParser
from silver.people.identities_and_bots import COLUMNS, PeopleRules, all_rows
from silver.visits.result_fold import all_results
from silver.visits.visit_fold import all_visits


def classify_history(run: JobContext, upto: datetime) -> DataFrame:
    """Classify all records up to an ingest stamp by the current rules."""
    require_side_topics(run)
    records = run.lake.read(KAFKA_RECORDS.name).where(F.col("ingested_at") <= F.lit(upto))
    records = records.where(F.col("topic") != run.settings.shop_changes_topic)
    require_content(run, records)
    parser = RecordParser(load_parse_rules(run.settings.conf), run.settings.side_topics)
    candidates, erased = parser.parse(records), ErasedRecords(run.lake)
    if not erased.is_empty:
        candidates = erased.mark_history(candidates)
    clock = F.broadcast(checkpoint(watermarks_before(run.lake.read(LEDGER))))
    copies = checkpoint(mark_duplicates(dedup_candidates(candidates)))
    return classify(candidates.join(clock, "ingested_at", "left"), copies, F.col("watermark_before"))


def watermarks_before(ledger: DataFrame) -> DataFrame:
    """Find, for each bronze commit, refine's watermark before the micro-batch that contains it.

    An event that was late on arrival stays late in a rebuild, because repair handles exactly the late events.

    Args:
        ledger: ops.ledger.

    Returns:
        One row per bronze commit: ingested_at and watermark_before, which is null for the first micro-batch.
    """
    in_turn = Window.orderBy("batch_id")
    refined = ledger.where("job = 'refine'").select(
        "position", F.struct(F.lag("watermark").over(in_turn).alias("at")).alias("before")
    )
    final = ledger.where("job = 'refine'").agg(F.max_by("watermark", "batch_id").alias("at"))
    stamps = ledger.where("job = 'ingest'").select("position").distinct()
    either = stamps.withColumn("before", F.lit(None).cast("struct<at: timestamp>")).unionByName(refined)
    # a commit belongs to the first micro-batch that ends at or after it
    onward = Window.orderBy("position").rangeBetween(Window.currentRow, Window.unboundedFollowing)
    filled = either.withColumn("batch", F.first("before", ignorenulls=True).over(onward))
    commits = filled.where(F.col("before").isNull()).crossJoin(final)
    before = F.when(F.col("batch").isNull(), F.col("at")).otherwise(F.col("batch.at"))
    return commits.select(F.col("position").alias("ingested_at"), before.alias("watermark_before"))


def _records_of(table: str, record_class: str) -> Callable[[JobContext], DataFrame]:
    return lambda run: records_of_class(
        classify_history(run, processed_through(run, "refine", table)), record_class
    )


def _rows_of(table: Table) -> Callable[[JobContext], DataFrame]:
    return lambda run: _folded(run, table)


def _folded(run: JobContext, table: Table) -> DataFrame:
    """Compute all rows of a session or exposure table from the events processed so far."""
    rules = VisitorRules.of(load_rule_numbers(run.settings.conf))
    return all_visits(known_events(run, table.name), table, rules, watermark(run))


def _search_results(run: JobContext) -> DataFrame:
    rules = VisitorRules.of(load_rule_numbers(run.settings.conf))
    return all_results(known_events(run, SEARCH_RESULTS.name), rules.searches, watermark(run))


def known_events(run: JobContext, table: str) -> DataFrame:
    """Events processed so far: on-time events by refine, late events by repair."""
    repaired = F.lit(processed_through(run, "repair", table))
    events = _events_through(run, processed_through(run, "refine", table))
    return events.where(~F.col("is_late") | (F.col("ingested_at") <= repaired))


def _events_through(run: JobContext, upto: datetime) -> DataFrame:
    """Events up to an ingest stamp: from silver.events if this run has rebuilt it that far, else from bronze.

    After an interrupted micro-batch, other tables may have events that silver.events lacks.
    """
    if EVENTS.name in run.rebuilt and upto <= processed_through(run, "refine", EVENTS.name):
        return run.lake.read(EVENTS.name).where(F.col("ingested_at") <= F.lit(upto))
    return records_of_class(classify_history(run, upto), EVENT)


def watermark(run: JobContext) -> datetime:
    """Refine's current watermark."""
    refined = Ledger(run.lake).last("refine")
    return (refined.watermark if refined else None) or EPOCH


def _dimension(table: Table) -> Callable[[JobContext], DataFrame]:
    return lambda run: _known_by(run, table)


def _known_by(run: JobContext, table: Table) -> DataFrame:
    """Compute a table from the events that repair has processed."""
    return dimension_rows(run, table, _events_through(run, processed_through(run, "repair", table.name)))


def dimension_rows(run: JobContext, table: Table, events: DataFrame) -> DataFrame:
    """Compute identities, bots or consents from events; unchanged rows keep their ingest stamp.

    Args:
        run: the job's context.
        table: which of them.
        events: rows of silver.events: all of some visitors that repair has processed.
    """
    upto = processed_through(run, "repair", table.name)
    found = all_rows(events.select("visitor_id", *COLUMNS), table, PeopleRules.load(run.settings.conf))
    standing = run.lake.read(table.name)
    facts = table.deterministic_columns
    stamps = {name: standing[name] for name in table.column_names if name not in facts}
    same = [found[name].eqNullSafe(standing[name]) for name in facts]
    kept = found.join(standing, same, "left").select(*(found[name] for name in facts), *stamps.values())
    version = F.lit(rules_version(run.settings.conf))
    made = {"ingested_at": F.coalesce("ingested_at", F.lit(upto)), "rules_version": version}
    return kept.withColumns({name: made[name] for name in stamps})


def _rates(run: JobContext) -> DataFrame:
    accepted = records_of_class(
        classify_history(run, processed_through(run, "refine", EXCHANGE_RATES.name)), RATE
    )
    nothing = run.lake.read(EXCHANGE_RATES.name).limit(0)
    return rate_changes(accepted, nothing).select(*EXCHANGE_RATES.column_names)


def _campaign_costs(run: JobContext) -> DataFrame:
    upto = F.lit(processed_through(run, "refine", CAMPAIGN_COSTS.name))
    sent, rates = (
        run.lake.read(name).where(F.col("ingested_at") <= upto)
        for name in (COST_RECORDS.name, EXCHANGE_RATES.name)
    )
    nothing = run.lake.read(CAMPAIGN_COSTS.name).limit(0)
    return cost_changes(sent, nothing, rates, run.settings).select(*CAMPAIGN_COSTS.column_names)


DEFINITIONS = {
    EVENTS.name: TableDefinition(_records_of(EVENTS.name, EVENT)),
    REJECTED_EVENTS.name: TableDefinition(_records_of(REJECTED_EVENTS.name, REJECTED)),
    DUPLICATE_EVENTS.name: TableDefinition(_records_of(DUPLICATE_EVENTS.name, DUPLICATE)),
    **{table.name: TableDefinition(_rows_of(table)) for table in FOLDED},
    SEARCH_RESULTS.name: TableDefinition(_search_results),
    IDENTITIES.name: TableDefinition(_dimension(IDENTITIES)),
    BOTS.name: TableDefinition(_dimension(BOTS)),
    CONSENTS.name: TableDefinition(_dimension(CONSENTS)),
    EXCHANGE_RATES.name: TableDefinition(_rates),
    COST_RECORDS.name: TableDefinition(_records_of(COST_RECORDS.name, COST)),
    CAMPAIGN_COSTS.name: TableDefinition(_campaign_costs),
}
"""Rebuild definitions by table. Each table comes after the tables that it is computed from."""
