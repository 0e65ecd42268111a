"""The refine job's micro-batch: records to events, copies, rejects, and rows that grow."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from lakehouse.batches import Batch, Outcome
from lakehouse.beside import side_by_side
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, EXCHANGE_RATES, REJECTED_EVENTS
from lakehouse.frames import settle
from lakehouse.instants import EPOCH, as_utc
from lakehouse.job import Run
from lakehouse.tuning import MANY
from silver.copies import PLACE, contest, find_copies
from silver.growing import GROWING, Growing
from silver.parse import Rules
from silver.rates import keep_rates
from silver.reading import Reader
from silver.seen import Seen
from silver.verdicts import DUPLICATE, EVENT, HEARTBEAT, RATE, REJECTED, give_verdicts

_OUTPUTS = ((EVENTS.name, EVENT), (REJECTED_EVENTS.name, REJECTED), (DUPLICATE_EVENTS.name, DUPLICATE))


def judge(candidates: DataFrame, copies: DataFrame, watermark: Column) -> DataFrame:
    """Everything silver knows of a micro-batch's records, one row each.

    Args:
        candidates: as `silver.reading.Reader` gives them.
        copies: as `silver.copies.find_copies` gives them.
        watermark: before a record's micro-batch; null before the first.

    Returns:
        The columns of silver.events, rejected_events and duplicate_events together, those of a rate, and
        `verdict`.
    """
    judged = give_verdicts(candidates.join(copies, list(PLACE), "left"))
    late = F.col("event_time") <= watermark
    return judged.withColumn("is_late", F.coalesce(late, F.lit(False)))


def take_verdict(judged: DataFrame, verdict: str) -> DataFrame:
    """The records of one verdict, with the columns of its table among theirs."""
    rows = judged.where(F.col("verdict") == verdict)
    return rows.withColumn("value", F.col("raw")) if verdict == REJECTED else rows


class Refine:
    """Turns micro-batches of bronze into silver.

    Args:
        run: the job's run.
        rules: gives roles and channels; asked for each micro-batch, so that all events after a change
            follow it.
    """

    def __init__(self, run: Run, rules: Callable[[], Rules]) -> None:
        self._run = run
        self._rules = rules
        self._reader: Reader | None = None
        side_by_side([self._ask_rules, self._remember, self._ask_tables])

    @property
    def reached(self) -> datetime:
        """The ingest stamp that some table was filled up to, when the job started."""
        return max(self._filled.values())

    def __call__(self, batch: Batch) -> Outcome:
        """Write one micro-batch; what a crash let through before is not written again."""
        lake = self._run.lake
        records = lake.read(KAFKA_RECORDS.name).where(batch.covers())
        candidates = self._ask_rules().read(records, batch.rows)
        copies = settle(self._find_copies(candidates.where("rate IS NULL"), batch.after))
        judged = judge(candidates, F.broadcast(copies), F.lit(batch.watermark))
        if batch.rows < MANY:  # each table that is written looks at them
            judged = settle(judged)
        counts = self._count(judged)
        if counts[RATE]:
            accepted = judged.where(F.col("verdict") == RATE)
            keep_rates(lake, self._unwritten(EXCHANGE_RATES.name, accepted), batch.upto)
        outcome = self._sum_up(counts, batch)
        self._write(judged, counts, batch, outcome.watermark)
        return outcome

    def _ask_rules(self) -> Reader:
        """The reader by the rules of now."""
        rules = self._rules()
        if self._reader is None or rules != self._reader.rules:
            self._reader = Reader(rules, self._run.settings.exchange_rates_topic)
        return self._reader

    def _ask_tables(self) -> None:
        """How far each has been filled; created if it wasn't there."""
        names = (*(name for name, _ in _OUTPUTS), *(table.name for table in GROWING), EXCHANGE_RATES.name)
        self._filled = {name: self._run.lake.filled_upto(name) or EPOCH for name in names}

    def _find_copies(self, candidates: DataFrame, after: datetime) -> DataFrame:
        lake = self._run.lake
        if lake.rewrites(EVENTS.name) != self._rewrites:
            self._remember()
        return find_copies(*self._seen.narrow(contest(candidates), lake.read(EVENTS.name), after))

    def _remember(self) -> None:
        self._rewrites = self._run.lake.rewrites(EVENTS.name)
        self._seen = Seen(self._run.lake.read(EVENTS.name))

    def _count(self, judged: DataFrame) -> Row:
        """Rows by verdict, by table that grows, late ones, those of the events' topic; the latest time."""
        of_events = F.col("topic") != self._run.settings.exchange_rates_topic
        clock = F.when(F.col("verdict") == EVENT, F.col("event_time")).otherwise(F.col("heartbeat_at"))
        return judged.agg(
            *(
                F.count_if(F.col("verdict") == verdict).alias(verdict)
                for verdict in (EVENT, DUPLICATE, REJECTED, HEARTBEAT, RATE)
            ),
            *(F.count_if(_on_time() & F.expr(table.takes)).alias(table.name) for table in GROWING),
            F.count_if(of_events).alias("read"),
            F.count_if(of_events & (F.col("verdict") == REJECTED)).alias("refused"),
            F.count_if((F.col("verdict") == EVENT) & F.col("is_late")).alias("late"),
            F.max(F.when(F.col("verdict").isin(EVENT, HEARTBEAT), clock)).alias("latest"),
        ).collect()[0]

    def _sum_up(self, counts: Row, batch: Batch) -> Outcome:
        """The ledger's row: what came of records of events."""
        return Outcome(
            input_rows=counts["read"],
            output_rows=counts[EVENT],
            duplicates=counts[DUPLICATE],
            rejected=counts["refused"],
            heartbeats=counts[HEARTBEAT],
            late=counts["late"],
            watermark=_advance(batch.watermark, counts["latest"], self._run.settings.watermark_delay),
        )

    def _write(self, judged: DataFrame, counts: Row, batch: Batch, watermark: datetime | None) -> None:
        outputs = [(name, verdict) for name, verdict in _OUTPUTS if counts[verdict]]
        writes = [partial(self._append, judged, name, verdict, batch) for name, verdict in outputs]
        if watermark is not None:
            on_time = judged.where(_on_time())
            writes += [
                partial(self._grow, table, on_time, counts[table.name], batch, watermark) for table in GROWING
            ]
        side_by_side(writes)

    def _append(self, judged: DataFrame, name: str, verdict: str, batch: Batch) -> None:
        rows = self._unwritten(name, take_verdict(judged, verdict))
        self._run.lake.append(name, rows, upto=batch.upto)

    def _grow(
        self, table: Growing, on_time: DataFrame, taken: int, batch: Batch, watermark: datetime
    ) -> None:
        """Let the open rows grow by the events on time, and close those the watermark has passed."""
        lake = self._run.lake
        open_rows = lake.read(table.name).where("is_open")
        if not taken and open_rows.isEmpty():
            return
        pieces = table.to_pieces(self._unwritten(table.name, on_time))
        if batch.rows < MANY:
            rows = table.advance(open_rows, settle(pieces), watermark)
        else:
            rows = table.grow(open_rows, pieces, watermark)
        lake.replace_where(table.name, "is_open = true", rows, upto=batch.upto)

    def _unwritten(self, name: str, rows: DataFrame) -> DataFrame:
        return rows.where(F.col("ingested_at") > F.lit(self._filled[name]))


def _on_time() -> Column:
    return (F.col("verdict") == EVENT) & ~F.col("is_late")


def _advance(before: datetime | None, latest: datetime | None, delay: timedelta) -> datetime | None:
    """The watermark after a batch: the latest event time less the delay, and never back."""
    reached = as_utc(latest) - delay if latest is not None else None
    return max((time for time in (before, reached) if time is not None), default=None)
