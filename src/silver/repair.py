"""The side door: what late events change in rows that were written without them."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from lakehouse.batches import Batch, Outcome
from lakehouse.beside import side_by_side
from lakehouse.contracts import TABLES
from lakehouse.contracts.silver import EVENTS
from lakehouse.frames import settle
from lakehouse.instants import EPOCH, as_utc
from lakehouse.job import Run
from lakehouse.ledger import Ledger
from silver.growing import GROWING, Growing
from silver.visitors import Visitors


class Repair:
    """Brings late events into the rows they belong to, and keeps what is known of visitors.

    Args:
        run: the job's run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._visitors = Visitors(run)
        self._filled = {table.name: run.lake.filled_upto(table.name) or EPOCH for table in GROWING}

    def __call__(self, batch: Batch) -> Outcome:
        """Repair what the late events of one micro-batch touch, table by table."""
        taken = F.expr(" OR ".join(table.takes for table in GROWING))
        late = self._run.lake.read(EVENTS.name).where(batch.covers() & F.col("is_late") & taken)
        late = settle(late.drop("properties"))
        found = late.agg(F.count("*").alias("rows"), *map(self._span, GROWING)).collect()[0]
        tasks: list[Callable[[], None]] = []
        if found.rows:
            refined = Ledger(self._run.lake).last("refine")  # by now further, perhaps, than this batch
            watermark = (refined.watermark if refined else None) or EPOCH
            tasks += [
                partial(self._repair, table, late.where(self._new(table)), span, watermark, batch)
                for table in GROWING
                if (span := found[table.name]).low is not None
            ]
        side_by_side([*tasks, lambda: self._visitors(batch)])
        return Outcome(output_rows=found.rows, late=found.rows, watermark=batch.upstream_watermark)

    def _new(self, table: Growing) -> Column:
        """Late events that a table takes, and has not been given before a crash."""
        return F.expr(table.takes) & (F.col("ingested_at") > F.lit(self._filled[table.name]))

    def _span(self, table: Growing) -> Column:
        time = F.when(self._new(table), F.col("event_time"))
        return F.struct(F.min(time).alias("low"), F.max(time).alias("high")).alias(table.name)

    def _repair(self, table: Growing, late: DataFrame, span: Row, watermark: datetime, batch: Batch) -> None:
        lake = self._run.lake
        columns = TABLES[table.name].column_names
        pieces = table.to_pieces(late)
        before = settle(table.touched(lake.read(table.name), pieces, as_utc(span.low), as_utc(span.high)))
        after = settle(table.grow(before, pieces, watermark))
        changed = settle(after.exceptAll(before.select(*columns)))
        gone = before.join(after, list(TABLES[table.name].key), "left_anti")
        lake.swap(table.name, gone, changed, upto=batch.upto, scope=_around(table, changed, gone))


def _around(table: Growing, changed: DataFrame, gone: DataFrame) -> Column:
    """The span of time that rows lie in."""
    time = TABLES[table.name].event_time or ""
    every = changed.select(F.col(time).alias("at")).union(gone.select(time))
    span = every.agg(F.min("at").alias("low"), F.max("at").alias("high")).collect()[0]
    return F.col(f"t.{time}").between(F.lit(span.low), F.lit(span.high))
