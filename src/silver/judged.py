"""What becomes of each record of a micro-batch: on the driver, or in Spark."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.arrow_frames import rows_of, to_frame
from lakehouse.arrow_times import in_micros
from lakehouse.frames import settle
from lakehouse.instants import from_micros, to_micros
from lakehouse.rows import Rows
from silver.copies import ENTRY, FIRST, PLACE
from silver.verdicts import DUPLICATE, EVENT, HEARTBEAT, REJECTED, VERDICTS


@dataclass(frozen=True)
class Counts:
    """Records of a micro-batch.

    Args:
        by_verdict: how many there are of each.
        read: of the topics of events.
        refused: of these, rejected ones.
        late: events.
        latest: event time, or a heartbeat's, of the latest event or heartbeat.
    """

    by_verdict: Counter[str]
    read: int
    refused: int
    late: int
    latest: datetime | None


def contest(candidates: Rows) -> Rows:
    """`ENTRY` of the records that may become events."""
    if isinstance(candidates, DataFrame):
        return candidates.where(F.col("verdict") == EVENT).select(*ENTRY)
    return candidates.filter(pc.equal(candidates["verdict"], EVENT)).select(list(ENTRY))


def judge(candidates: Rows, copies: pa.Table, watermark: datetime | None) -> Rows:
    """Everything silver knows of a micro-batch's records, one row each.

    Args:
        candidates: as `silver.record_parser.RecordParser` gives them.
        copies: as `silver.copies.find_copies` gives them.
        watermark: before the micro-batch; None before the first.

    Returns:
        The columns of silver.events, rejected_events and duplicate_events together, those of a rate, and
        `verdict`.
    """
    if isinstance(candidates, DataFrame):
        theirs = F.broadcast(to_frame(candidates.sparkSession, copies))
        return settle(judge_frame(candidates, theirs, F.lit(watermark)))
    copies = in_micros(copies)
    first = {tuple(place): them for *place, them in zip(*_places(copies), _firsts(copies), strict=True)}
    found = [first.get(place) for place in zip(*_places(candidates), strict=True)]
    nothing = (None,) * len(FIRST)
    columns = zip(*(them or nothing for them in found), strict=True) if found else [()] * len(FIRST)
    for name, values in zip(FIRST, columns, strict=True):
        candidates = candidates.append_column(name, pa.array(values, copies.schema.field(name).type))
    verdict = pc.if_else(pc.is_valid(candidates["first_offset"]), DUPLICATE, candidates["verdict"])
    candidates = candidates.set_column(candidates.column_names.index("verdict"), "verdict", verdict)
    mark = pa.scalar(None if watermark is None else to_micros(watermark), pa.int64())
    late = pc.fill_null(pc.less_equal(candidates["event_time"], mark), False)
    return candidates.append_column("is_late", late)


def judge_frame(candidates: DataFrame, copies: DataFrame, watermark: Column) -> DataFrame:
    """The same in Spark, not computed yet; the watermark is null before the first micro-batch."""
    found = candidates.join(copies, list(PLACE), "left")
    verdict = F.when(F.col("first_offset").isNotNull(), DUPLICATE).otherwise(F.col("verdict"))
    late = F.coalesce(F.col("event_time") <= watermark, F.lit(False))
    return found.withColumns({"verdict": verdict, "is_late": late})


def take_verdict(judged: Rows, verdict: str) -> Rows:
    """The records of one verdict, with the columns of its table among theirs."""
    if isinstance(judged, DataFrame):
        rows = judged.where(F.col("verdict") == verdict)
        return rows.withColumn("value", F.col("raw")) if verdict == REJECTED else rows
    rows = judged.filter(pc.equal(judged["verdict"], verdict))
    if verdict != REJECTED:
        return rows
    return rows.set_column(rows.column_names.index("value"), "value", rows["raw"])


def take_on_time(judged: Rows) -> Rows:
    """The events that came before the watermark passed them."""
    if isinstance(judged, DataFrame):
        return judged.where((F.col("verdict") == EVENT) & ~F.col("is_late"))
    return judged.filter(pc.and_(pc.equal(judged["verdict"], EVENT), pc.invert(judged["is_late"])))


def stamped_after(rows: Rows, stamp: datetime) -> Rows:
    """The rows with a later ingest stamp."""
    if isinstance(rows, DataFrame):
        return rows.where(F.col("ingested_at") > F.lit(stamp))
    return rows.filter(pc.greater(rows["ingested_at"], to_micros(stamp)))


def count_records(judged: Rows, rates_topic: str) -> Counts:
    """Count the records of a micro-batch.

    Args:
        judged: as `judge` gives them.
        rates_topic: the topic of exchange rates.
    """
    if isinstance(judged, DataFrame):
        return _count_in_spark(judged, rates_topic)
    verdicts, topics = (judged[name].to_pylist() for name in ("verdict", "topic"))
    of_events = [verdict for verdict, topic in zip(verdicts, topics, strict=True) if topic != rates_topic]
    events = judged.filter(pc.equal(judged["verdict"], EVENT))
    heard = judged.filter(pc.equal(judged["verdict"], HEARTBEAT))
    times = (pc.max(events["event_time"]).as_py(), pc.max(heard["heartbeat_at"]).as_py())
    latest = max((time for time in times if time is not None), default=None)
    return Counts(
        by_verdict=Counter(verdicts),
        read=len(of_events),
        refused=of_events.count(REJECTED),
        late=pc.sum(events["is_late"]).as_py() or 0,
        latest=None if latest is None else from_micros(latest),
    )


def _count_in_spark(judged: DataFrame, rates_topic: str) -> Counts:
    verdict, of_events = F.col("verdict"), F.col("topic") != rates_topic
    clock = F.when(verdict == EVENT, F.col("event_time")).otherwise(F.col("heartbeat_at"))
    row = judged.agg(
        *(F.count_if(verdict == each).alias(each) for each in VERDICTS),
        F.count_if(of_events).alias("read"),
        F.count_if(of_events & (verdict == REJECTED)).alias("refused"),
        F.count_if((verdict == EVENT) & F.col("is_late")).alias("late"),
        F.max(F.when(verdict.isin(EVENT, HEARTBEAT), clock)).alias("latest"),
    ).collect()[0]
    by_verdict = Counter({each: row[each] for each in VERDICTS})
    return Counts(by_verdict, row.read, row.refused, row.late, row.latest)


def _places(rows: pa.Table) -> list[list[object]]:
    return [rows[name].to_pylist() for name in PLACE]


def _firsts(copies: pa.Table) -> list[tuple[object, ...]]:
    return rows_of(copies, FIRST)
