"""Removes erased records from silver, and recomputes the other rows of their visitors."""

from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame

from folds.rule_numbers import load_rule_numbers
from folds.visitors.rules import VisitorRules
from lakehouse.contracts.exposures import SEARCH_RESULTS
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, FOLDED, LOCK, REJECTED_EVENTS
from lakehouse.contracts.table import Table
from lakehouse.delta.write_changes import checkpoint_changes, folded_changes, write_kind
from lakehouse.erasure.delete_records import delete_records
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from silver.people.identities_and_bots import DIMENSIONS
from silver.rebuild_definitions import dimension_rows, known_events, watermark
from silver.visits.result_fold import all_results
from silver.visits.visit_fold import all_visits

_OF_VISITORS = (*FOLDED, SEARCH_RESULTS, *DIMENSIONS)


def remove_from_silver(run: JobContext, records: DataFrame, visitors: DataFrame, upto: datetime) -> None:
    """Remove records, and make all tables as if they had never come. Idempotent.

    Args:
        run: the job's context; the caller holds the lock of silver.
        records: topic, partition and offset of the records, each once.
        visitors: visitor_id of the visitors whose rows may change.
        upto: an ingest stamp for the commits' metadata.
    """
    with run.lake.exclusive(LOCK):
        of_records = (EVENTS, REJECTED_EVENTS, DUPLICATE_EVENTS)
        run_concurrently([partial(delete_records, run.lake, each, records, upto) for each in of_records])
        run.rebuilt.add(EVENTS.name)
        _recompute(run, visitors, upto)


def _recompute(run: JobContext, visitors: DataFrame, upto: datetime) -> None:
    before = {
        table.name: semi_join(run.lake.read(table.name), visitors, "visitor_id") for table in _OF_VISITORS
    }
    after = {table.name: _rows(run, table, visitors) for table in _OF_VISITORS}
    changes = folded_changes(_OF_VISITORS, before, after, "visitor_id")
    rows, extents, _ = checkpoint_changes(changes, _OF_VISITORS)
    run_concurrently([partial(write_kind, run.lake, each, rows, extents, upto) for each in _OF_VISITORS])


def _rows(run: JobContext, table: Table, visitors: DataFrame) -> DataFrame:
    """The rows of a table that follow from the visitors' other events."""
    events = semi_join(known_events(run, table.name), visitors, "visitor_id")
    if table in DIMENSIONS:
        return dimension_rows(run, table, events)
    rules = VisitorRules.of(load_rule_numbers(run.settings.conf))
    if table == SEARCH_RESULTS:
        return all_results(events, rules.searches, watermark(run))
    return all_visits(events, table, rules, watermark(run))
