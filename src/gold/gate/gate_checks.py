"""Evaluates the expectations of conf/expectations on new rows of silver."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from pyspark.sql import functions as F

from gold.gate.gate_inputs import TABLES, columns_of, compare_hours, new_records, new_rows
from lakehouse.contracts.exposures import IMPRESSIONS
from lakehouse.errors import MillraceError
from lakehouse.quality.evaluation import Counts, Evaluator, Result
from lakehouse.quality.gate_log import GateLog
from lakehouse.quality.history import RowCounts
from lakehouse.quality.metrics import SOURCE, Counted, SuiteMetrics, count_rows
from lakehouse.quality.results import read_history
from lakehouse.quality.sql_conditions import COLUMN_SET, require_decidable
from lakehouse.quality.suites import HOURS, ROWS, STOP, Expectation, Suite, load_suites
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.timestamps import EPOCH

Refined = tuple[Entry | None, list[Entry]]
"""The ledger rows of refine: the last one before the evaluated rows, and those of the evaluated rows."""


def gate_expectations(suites: Mapping[str, Suite]) -> list[Expectation]:
    """The expectations that decide about the gate.

    Raises:
        MillraceError: if one of severity stop is on a table that the gate does not evaluate.
    """
    for table in sorted(suites.keys() - set(TABLES)):
        if any(each.severity == STOP for each in suites[table].expectations):
            raise MillraceError(
                f"expectations of {table} have severity stop, and the gate does not look at that table",
                f"Let them warn; it looks at {', '.join(TABLES)}",
            )
    known = [suites[table] for table in TABLES if table in suites]
    return [each for suite in known for each in suite.expectations if not each.only_reported]


class GateChecks:
    """Counts rows and evaluates expectations. conf/ is read again for each evaluation.

    Args:
        run: the context of publish.
    """

    def __init__(self, run: JobContext) -> None:
        self._run = run
        self._ledger = Ledger(run.lake)
        self._suites = load_suites(run.settings.conf)
        self._history = read_history(run.lake, gate_expectations(self._suites), GateLog(run.lake).released())
        self._prepare()

    def evaluate(self, after: datetime, upto: datetime, refined: Refined) -> list[Result]:
        """Results for rows between two ingest stamps, and for earlier rows that were too few."""
        return self._evaluator.evaluate(self._count(after, upto, refined))

    def evaluate_again(self, after: datetime, upto: datetime, failed: Collection[str]) -> list[Result]:
        """Results for these rows only. Expectations in `failed` are decided on any number of rows."""
        refined = self._ledger.since("refine", after)
        return self._evaluator.evaluate_again(self._count(after, upto, refined), failed)

    def accept(self, results: Iterable[Result]) -> None:
        """Add results of approved rows to the shop's history."""
        for result in results:
            self._history.add(result.expectation, RowCounts(result.rows, result.unexpected))

    def reset(self) -> None:
        """Drop counts of earlier rows that were too few."""
        self._evaluator.reset()

    def _prepare(self) -> None:
        every = gate_expectations(self._suites)
        self._schemas = [each for each in every if each.kind == COLUMN_SET]
        rows = [require_decidable(each) for each in every if each.kind != COLUMN_SET]
        about = [each for each in rows if each.of != HOURS]
        # counted apart: impressions are many, and expectations on records do not apply to them
        self._records = SuiteMetrics([each for each in about if not _of_impressions(each)])
        self._impressions = SuiteMetrics([each for each in about if _of_impressions(each)])
        self._hours = SuiteMetrics([each for each in rows if each.of == HOURS])
        self._evaluator = Evaluator(every, self._history)

    def _count(self, after: datetime, upto: datetime, refined: Refined) -> Counts:
        suites = load_suites(self._run.settings.conf)
        if suites != self._suites:
            self._suites = suites
            self._prepare()
        last, known = refined
        done = [entry for entry in known if entry.position <= upto]
        before = (last.watermark if last else None) or EPOCH
        counted = [*self._of_rows(after, upto, before), *self._of_hours(before, done)]
        arrived = sum(entry.input_rows - entry.heartbeats - entry.erased for entry in done)
        return {**self._of_schemas(), **count_rows(counted, {"records": arrived})}

    def _of_rows(self, after: datetime, upto: datetime, watermark: datetime) -> Iterator[Counted]:
        """Expectations on new records and on new impressions, with these rows."""
        lake, seen = self._run.lake, IMPRESSIONS.name
        if self._records:
            yield self._records, new_records(lake, after, upto, self._suites)
        if self._impressions:
            rows = new_rows(lake, seen, after, upto, watermark, self._suites[seen])
            yield self._impressions, rows.withColumn(SOURCE, F.lit(seen))

    def _of_hours(self, before: datetime, done: Collection[Entry]) -> Iterator[Counted]:
        """Expectations on hours, with those that the watermark has passed, if there are any."""
        marks = [entry.watermark for entry in done if entry.watermark]
        hours = compare_hours(self._run.lake, before, max(marks)) if marks and self._hours else None
        if hours is not None:
            yield self._hours, hours

    def _of_schemas(self) -> dict[str, tuple[int, int]]:
        there: Mapping[str, list[str]] = columns_of(self._run.lake, {each.table for each in self._schemas})
        return {each.id: _compare(each, there[each.table]) for each in self._schemas}


def _of_impressions(expectation: Expectation) -> bool:
    return expectation.table == IMPRESSIONS.name and expectation.of == ROWS


def _compare(expectation: Expectation, columns: list[str]) -> tuple[int, int]:
    """Number of columns that are actual or declared, and number of those that are not both."""
    declared = set(expectation.arguments["column_set"])
    return len(declared | set(columns)), len(declared ^ set(columns))
