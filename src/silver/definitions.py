"""What each silver table is as a whole: the functions of the jobs, over all of bronze."""

from collections.abc import Callable
from datetime import datetime

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lakehouse.contracts import gold
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, REJECTED_EVENTS
from lakehouse.frames import settle
from lakehouse.instants import EPOCH
from lakehouse.job import Run
from lakehouse.ledger import NAME as LEDGER
from lakehouse.ledger import Ledger
from lakehouse.rebuilding import Definition, reached
from silver.copies import contest, tell_copies
from silver.growing import GROWING, LOCK, Growing
from silver.parse import load_rules
from silver.reading import Reader
from silver.refine import judge, take_verdict
from silver.verdicts import DUPLICATE, EVENT, REJECTED

_GOLD = tuple(table.name for table in gold.TABLES)


def judge_history(run: Run, upto: datetime) -> DataFrame:
    """All records up to an ingest stamp, as `silver.refine.judge` gives them, by the rules of now."""
    records = run.lake.read(KAFKA_RECORDS.name).where(F.col("ingested_at") <= F.lit(upto))
    reader = Reader(load_rules(run.settings.conf), run.settings.exchange_rates_topic)
    candidates = reader.read_carefully(records)
    clock = F.broadcast(settle(watermarks_before(run.lake.read(LEDGER))))
    copies = settle(tell_copies(contest(candidates.where("rate IS NULL"))))
    return judge(candidates.join(clock, "ingested_at", "left"), copies, F.col("watermark_before"))


def watermarks_before(ledger: DataFrame) -> DataFrame:
    """The watermark before the micro-batch of refine that a bronze commit was, or will be, refined in.

    What was late when it came is late for good: repair goes by it.

    Args:
        ledger: ops.ledger.

    Returns:
        ingested_at and watermark_before, null before the first: a row for each bronze commit.
    """
    in_turn = Window.orderBy("batch_id")
    refined = ledger.where("job = 'refine'").select(
        "position", F.struct(F.lag("watermark").over(in_turn).alias("at")).alias("before")
    )
    final = ledger.where("job = 'refine'").agg(F.max_by("watermark", "batch_id").alias("at"))
    stamps = ledger.where("job = 'ingest'").select("position").distinct()
    either = stamps.withColumn("before", F.lit(None).cast("struct<at: timestamp>")).unionByName(refined)
    # a commit goes with the first micro-batch that ends at it or after it
    onward = Window.orderBy("position").rangeBetween(Window.currentRow, Window.unboundedFollowing)
    filled = either.withColumn("batch", F.first("before", ignorenulls=True).over(onward))
    commits = filled.where(F.col("before").isNull()).crossJoin(final)
    before = F.when(F.col("batch").isNull(), F.col("at")).otherwise(F.col("batch.at"))
    return commits.select(F.col("position").alias("ingested_at"), before.alias("watermark_before"))


def _records_of(table: str, verdict: str) -> Callable[[Run], DataFrame]:
    return lambda run: take_verdict(judge_history(run, reached(run, "refine", table)), verdict)


def _rows_of(table: Growing) -> Callable[[Run], DataFrame]:
    return lambda run: _grown(run, table)


def _grown(run: Run, table: Growing) -> DataFrame:
    """Events on time as far as refine has brought them in, late ones as far as repair has."""
    repaired = F.lit(reached(run, "repair", table.name))
    events = take_verdict(judge_history(run, reached(run, "refine", table.name)), EVENT)
    known = events.where(~F.col("is_late") | (F.col("ingested_at") <= repaired))
    refined = Ledger(run.lake).last("refine")
    watermark = (refined.watermark if refined else None) or EPOCH
    return table.mark_open(table.join(table.to_pieces(known)), watermark)


DEFINITIONS = {
    EVENTS.name: Definition(
        _records_of(EVENTS.name, EVENT), LOCK, (*(table.name for table in GROWING), *_GOLD)
    ),
    REJECTED_EVENTS.name: Definition(_records_of(REJECTED_EVENTS.name, REJECTED), LOCK),
    DUPLICATE_EVENTS.name: Definition(_records_of(DUPLICATE_EVENTS.name, DUPLICATE), LOCK),
    **{table.name: Definition(_rows_of(table), LOCK, _GOLD) for table in GROWING},
}
