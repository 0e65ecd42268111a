"""Evaluates the expectations of conf/expectations on new rows of silver."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from pyspark.sql import functions as F

from gold.gate.gate_inputs import TABLES, columns_of, compare_hours, new_records, new_rows
from gold.gate.inspected_rows import InspectedRows
from lakehouse.contracts.exposures import IMPRESSIONS
from lakehouse.errors import MillraceError
from lakehouse.quality.evaluation import Counts, Evaluator, Result
from lakehouse.quality.gate_log import GateLog
from lakehouse.quality.history import RowCounts
from lakehouse.quality.metrics import SOURCE, SuiteMetrics
from lakehouse.quality.results import read_history
from lakehouse.quality.sql_conditions import COLUMN_SET, require_decidable
from lakehouse.quality.suites import HOURS, ROWS, STOP, Expectation, Suite, load_suites
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.timestamps import EPOCH

_ROWS_PER_PART = 200_000

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
        lake = self._run.lake
        last, known = refined
        done = [entry for entry in known if entry.position <= upto]
        marks = [entry.watermark for entry in done if entry.watermark]
        before = (last.watermark if last else None) or EPOCH
        arrived = {"records": sum(entry.input_rows - entry.heartbeats - entry.erased for entry in done)}
        hours = (before, max(marks)) if marks else None
        if lake.local.is_possible:
            counts = self._count_here(_in_parts(after, upto, done), before, arrived, hours)
        else:
            counts = self._count_in_spark(after, upto, before, arrived, hours)
        return {**self._of_schemas(), **counts}

    def _count_here(
        self,
        parts: Iterable[tuple[datetime, datetime]],
        before: datetime,
        arrived: Mapping[str, int],
        hours: tuple[datetime, datetime] | None,
    ) -> Counts:
        rows = InspectedRows(self._run.lake, self._suites)
        records = self._records.count_in(rows.connection, (rows.records(*part) for part in parts), arrived)
        impressions = self._impressions.count_in(rows.connection, [rows.impressions(before)])
        query = rows.hours(*hours) if hours else None
        return {**records, **impressions, **(self._hours.count_in(rows.connection, [query]) if query else {})}

    def _count_in_spark(
        self,
        after: datetime,
        upto: datetime,
        before: datetime,
        arrived: Mapping[str, int],
        hours: tuple[datetime, datetime] | None,
    ) -> Counts:
        lake, seen, suite = self._run.lake, IMPRESSIONS.name, self._suites.get(IMPRESSIONS.name)
        records = new_records(lake, after, upto, self._suites)
        impressions = new_rows(lake, seen, after, upto, before, suite).withColumn(SOURCE, F.lit(seen))
        tasks = [
            lambda: self._records.count(records, arrived),
            lambda: self._impressions.count(impressions),
        ]
        of_records, of_impressions = run_concurrently(tasks)
        compared = compare_hours(lake, *hours) if hours else None
        of_hours = {} if compared is None else self._hours.count(compared)
        return {**of_records, **of_impressions, **of_hours}

    def _of_schemas(self) -> dict[str, tuple[int, int]]:
        there: Mapping[str, list[str]] = columns_of(self._run.lake, {each.table for each in self._schemas})
        return {each.id: _compare(each, there[each.table]) for each in self._schemas}


def _in_parts(after: datetime, upto: datetime, done: Sequence[Entry]) -> Iterator[tuple[datetime, datetime]]:
    """Ranges of ingest stamps with few enough rows for the driver."""
    rows = 0
    for entry, following in pairwise(done):
        rows += entry.input_rows
        if rows + following.input_rows > _ROWS_PER_PART:
            yield after, entry.position
            after, rows = entry.position, 0
    yield after, upto


def _of_impressions(expectation: Expectation) -> bool:
    return expectation.table == IMPRESSIONS.name and expectation.of == ROWS


def _compare(expectation: Expectation, columns: list[str]) -> tuple[int, int]:
    """Number of columns that are actual or declared, and number of those that are not both."""
    declared = set(expectation.arguments["column_set"])
    return len(declared | set(columns)), len(declared ^ set(columns))
