"""The refine job's micro-batch: records to events, copies, rejects and open sessions."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.batches import Batch, Outcome
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, REJECTED_EVENTS, SESSIONS
from lakehouse.frames import settle
from lakehouse.instants import EPOCH, as_utc
from lakehouse.job import Run
from silver.copies import PLACE, contest, find_copies
from silver.parse import Rules, parse_records
from silver.seen import Seen
from silver.sessions import join_fragments, mark_open, to_fragments
from silver.verdicts import DUPLICATE, EVENT, HEARTBEAT, REJECTED, give_verdicts, reject_unusable

_OUTPUTS = ((EVENTS.name, EVENT), (REJECTED_EVENTS.name, REJECTED), (DUPLICATE_EVENTS.name, DUPLICATE))


def read_candidates(records: DataFrame, rules: Rules) -> DataFrame:
    """Parse records and say which can't be used; bytes are kept of those alone."""
    candidates = reject_unusable(parse_records(records, rules))
    return candidates.withColumn("raw", F.when(F.col("reason").isNotNull(), F.col("raw")))


def judge(candidates: DataFrame, copies: DataFrame, watermark: datetime | None) -> DataFrame:
    """Everything silver knows of a micro-batch's records, one row each.

    Args:
        candidates: as `read_candidates` gives them.
        copies: as `silver.copies.find_copies` gives them.
        watermark: before the micro-batch; None before the first.

    Returns:
        The columns of silver.events, rejected_events and duplicate_events together, and `verdict`.
    """
    judged = give_verdicts(candidates.join(F.broadcast(copies), list(PLACE), "left"))
    late = F.col("event_time") <= F.lit(watermark)
    return judged.withColumn("is_late", F.coalesce(late, F.lit(False)))


class Refine:
    """Turns micro-batches of bronze into silver.

    Args:
        run: the job's run.
        rules: roles and channels.
    """

    def __init__(self, run: Run, rules: Rules) -> None:
        self._run = run
        self._rules = rules
        self._remember()
        self._filled = {
            name: run.lake.filled_upto(name) or EPOCH
            for name in (*(output for output, _ in _OUTPUTS), SESSIONS.name)
        }

    @property
    def reached(self) -> datetime:
        """The ingest stamp that some table was filled up to, when the job started."""
        return max(self._filled.values())

    def __call__(self, batch: Batch) -> Outcome:
        """Write one micro-batch; what a crash let through before is not written again."""
        lake = self._run.lake
        records = lake.read(KAFKA_RECORDS.name).where(batch.covers())
        candidates = settle(read_candidates(records, self._rules))
        copies = settle(self._find_copies(candidates, batch.after))
        judged = judge(candidates, copies, batch.watermark)
        outcome = self._measure(judged, batch)
        self._write(judged, batch, outcome)
        return outcome

    def _find_copies(self, candidates: DataFrame, after: datetime) -> DataFrame:
        lake = self._run.lake
        if lake.rewrites(EVENTS.name) != self._rewrites:
            self._remember()
        return find_copies(*self._seen.narrow(contest(candidates), lake.read(EVENTS.name), after))

    def _remember(self) -> None:
        self._rewrites = self._run.lake.rewrites(EVENTS.name)
        self._seen = Seen(self._run.lake.read(EVENTS.name))

    def _measure(self, judged: DataFrame, batch: Batch) -> Outcome:
        clock = F.when(F.col("verdict") == EVENT, F.col("event_time")).otherwise(F.col("heartbeat_at"))
        counts = judged.agg(
            *(
                F.count_if(F.col("verdict") == verdict).alias(verdict)
                for verdict in (EVENT, DUPLICATE, REJECTED, HEARTBEAT)
            ),
            F.count_if((F.col("verdict") == EVENT) & F.col("is_late")).alias("late"),
            F.max(F.when(F.col("verdict").isin(EVENT, HEARTBEAT), clock)).alias("latest"),
        ).collect()[0]
        return Outcome(
            output_rows=counts[EVENT],
            duplicates=counts[DUPLICATE],
            rejected=counts[REJECTED],
            heartbeats=counts[HEARTBEAT],
            late=counts["late"],
            watermark=_advance(batch.watermark, counts["latest"], self._run.settings.watermark_delay),
        )

    def _write(self, judged: DataFrame, batch: Batch, outcome: Outcome) -> None:
        sizes = {EVENT: outcome.output_rows, REJECTED: outcome.rejected, DUPLICATE: outcome.duplicates}
        outputs = [(name, verdict) for name, verdict in _OUTPUTS if sizes[verdict]]
        with ThreadPoolExecutor(max_workers=2) as writers:  # a commit waits more than it works
            writing = [
                writers.submit(self._append, judged, name, verdict, batch) for name, verdict in outputs
            ]
            writing.append(writers.submit(self._update_sessions, judged, batch, outcome.watermark))
        _raise_first([write.exception() for write in writing])

    def _append(self, judged: DataFrame, name: str, verdict: str, batch: Batch) -> None:
        rows = judged.where(F.col("verdict") == verdict)
        if verdict == REJECTED:
            rows = rows.withColumn("value", F.col("raw"))
        self._run.lake.append(name, self._unwritten(name, rows), upto=batch.upto)

    def _update_sessions(self, judged: DataFrame, batch: Batch, watermark: datetime | None) -> None:
        """Let the open sessions grow by the events on time, and close those the watermark has passed."""
        if watermark is None:
            return
        on_time = judged.where((F.col("verdict") == EVENT) & ~F.col("is_late"))
        fragments = to_fragments(self._unwritten(SESSIONS.name, on_time))
        still_open = self._run.lake.read(SESSIONS.name).where("is_open").select(*fragments.columns)
        sessions = mark_open(join_fragments(fragments.unionByName(still_open)), watermark)
        self._run.lake.replace_where(SESSIONS.name, "is_open = true", sessions, upto=batch.upto)

    def _unwritten(self, name: str, rows: DataFrame) -> DataFrame:
        return rows.where(F.col("ingested_at") > F.lit(self._filled[name]))


def _advance(before: datetime | None, latest: datetime | None, delay: timedelta) -> datetime | None:
    """The watermark after a batch: the latest event time less the delay, and never back."""
    reached = as_utc(latest) - delay if latest is not None else None
    return max((time for time in (before, reached) if time is not None), default=None)


def _raise_first(errors: Sequence[BaseException | None]) -> None:
    for error in errors:
        if error is not None:
            raise error
