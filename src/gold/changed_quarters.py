"""The quarter-hours of conversions that micro-batches of publish have affected."""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.traffic import VISITOR_MINUTES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint_with
from lakehouse.rows.time_pruner import TimePruner, hours_between
from lakehouse.timestamps import LAST, span_micros, to_micros

_LENGTH = timedelta(minutes=15)
_QUARTER, _IS_MARKED = "_quarter", "_is_marked"


@dataclass(frozen=True)
class ChangedQuarters:
    """Times of conversions that may have changed.

    Args:
        quarters: starts of quarter-hours as `_QUARTER`, in microseconds, each once. Checkpointed.
        since: all later times are affected, too, in microseconds; None: no others.
        near: contains all of them.
    """

    quarters: DataFrame
    since: int | None
    near: TimePruner

    def select(self, rows: DataFrame) -> DataFrame:
        """Rows whose `converted_at` is affected."""
        marks = F.broadcast(self.quarters.withColumn(_IS_MARKED, F.lit(True)))
        found = rows.where(self.near.contains("converted_at")).withColumn(
            _QUARTER, _quarter_of("converted_at")
        )
        is_affected = F.coalesce(_IS_MARKED, F.lit(False))
        if self.since is not None:
            is_affected |= F.unix_micros("converted_at") >= self.since
        return found.join(marks, _QUARTER, "left").where(is_affected).select(*rows.columns)


def changed_quarters(lake: Lakehouse, done: int, since: int | None = None) -> ChangedQuarters | None:
    """Read the quarter-hours that micro-batches have affected; None if there are none.

    A micro-batch of publish marks in gold.visitor_minutes the quarter-hours of the conversions that it
    affects, as they were and as they are.

    Args:
        lake: the tables.
        done: sequence of gold.visitor_minutes through which conversions have been applied.
        since: all later times are affected, too, in microseconds; None: no others.
    """
    new = lake.read(VISITOR_MINUTES.name).where(F.col("sequence") > done)
    at = F.col(_QUARTER)
    quarters, found = checkpoint_with(
        new.select(_quarter_of("minute").alias(_QUARTER)).distinct(), near=hours_between(at, at, _LENGTH)
    )
    near = found["near"]
    if since is not None:
        near = [*near, (since // span_micros(_LENGTH), to_micros(LAST) // span_micros(_LENGTH))]
    return ChangedQuarters(quarters, since, TimePruner.of_hours(near, length=_LENGTH)) if near else None


def _quarter_of(time: str) -> Column:
    at = F.unix_micros(time)
    return at - F.pmod(at, F.lit(span_micros(_LENGTH)))
