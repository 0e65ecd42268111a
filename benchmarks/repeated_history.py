"""Multiplies a filled home: the same rows again, of other visitors and with other ids."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.attribution_home import BY_PERSON
from lakehouse.contracts import TABLES
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.delta.delta_tables import Lakehouse

REPEATED = (EVENTS.name, SESSIONS.name, *BY_PERSON)
_IDS = (
    "event_id",
    "visitor_id",
    "person_id",
    "order_id",
    "session_id",
    "first_event_id",
    "last_event_id",
    "touch_id",
    "conversion_id",
)
_ROWS_PER_FILE = 100_000


def repeat_history(lake: Lakehouse, times: int) -> dict[str, int]:
    """Append the rows of each table `times` - 1 times. Ids get a prefix; each file has a span of event time.

    Returns:
        The number of rows by table.
    """
    rows = {}
    for name in REPEATED:
        there = lake.read(name)
        count = there.count()
        files = max(1, count * times // _ROWS_PER_FILE)
        spans = there.repartitionByRange(files, str(TABLES[name].event_time))
        if times > 1:
            lake.append(name, _repeat(spans, times))
        rows[name] = count * times
    return rows


def _repeat(rows: DataFrame, times: int) -> DataFrame:
    repeated = rows.crossJoin(F.broadcast(rows.sparkSession.range(1, times).withColumnRenamed("id", "times")))
    ids = {name: _prefixed(name) for name in _IDS if name in rows.columns}
    repeated = repeated.withColumns(ids)
    if "event_hash" in rows.columns:
        repeated = repeated.withColumn("event_hash", F.xxhash64("event_id"))
    return repeated.drop("times")


def _prefixed(name: str) -> Column:
    return F.concat(F.col("times"), F.lit("-"), F.col(name)).alias(name)
