"""The side door: what late events change in rows that were written without them."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.rule_numbers import load_rule_numbers
from folds.visitors.events import Event
from folds.visitors.rules import VisitorRules
from lakehouse.batches import Batch, Outcome
from lakehouse.beside import side_by_side
from lakehouse.contracts import TABLES
from lakehouse.contracts.silver import EVENTS, FOLDED
from lakehouse.frames import settle
from lakehouse.instants import EPOCH, as_utc
from lakehouse.job import Run
from lakehouse.ledger import Ledger
from lakehouse.tuning import MANY
from silver.visitor_fold import TAKES, TableChanges, fold_changes, fold_events
from silver.visitor_history import affected_rows
from silver.visitors import Visitors


class Repair:
    """Brings late events into the rows they belong to, and keeps what is known of visitors.

    Args:
        run: the job's run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._visitors = Visitors(run)
        self._filled = {table.name: run.lake.filled_upto(table.name) or EPOCH for table in FOLDED}

    def __call__(self, batch: Batch) -> Outcome:
        """Fold the late events of one micro-batch into the rows that they affect."""
        taken = F.expr(" OR ".join(TAKES.values()))
        late = self._run.lake.read(EVENTS.name).where(batch.covers() & F.col("is_late") & taken)
        late = settle(late.select(*Event._fields, "ingested_at"))
        is_new = F.col("ingested_at") > F.lit(min(self._filled.values()))
        at = F.when(is_new, F.col("event_time"))
        span = late.agg(F.count("*").alias("rows"), F.min(at).alias("low"), F.max(at).alias("high")).head()
        tasks: list[Callable[[], None]] = [partial(self._visitors, batch)]
        if span and span.low is not None:
            low, high = as_utc(span.low), as_utc(span.high)
            tasks.insert(0, partial(self._fold, late.where(is_new), low, high, batch))
        side_by_side(tasks)
        rows = span.rows if span else 0
        return Outcome(output_rows=rows, late=rows, watermark=batch.upstream_watermark)

    def _fold(self, late: DataFrame, low: datetime, high: datetime, batch: Batch) -> None:
        refined = Ledger(self._run.lake).last("refine")  # by now further, perhaps, than this batch
        watermark = (refined.watermark if refined else None) or EPOCH
        numbers = load_rule_numbers(self._run.settings.conf)
        history = affected_rows(self._run.lake, late, numbers, low, high)
        rules, few = VisitorRules.of(numbers), batch.rows < MANY
        folded = fold_events(late, history, rules, watermark, self._filled, on_driver=few)
        changes = fold_changes(folded)
        side_by_side([partial(self._apply, name, each, batch) for name, each in changes.items()])

    def _apply(self, table: str, changes: TableChanges, batch: Batch) -> None:
        time = F.col(f"t.{TABLES[table].event_time}")
        scope = time.between(F.lit(changes.low), F.lit(changes.high))
        self._run.lake.apply(table, changes.rows, batch.upto, scope)
