"""Rows of gold.persons, from the touches, sessions and conversions of persons."""

from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.cohorts import AGES, PERSONS
from lakehouse.timestamps import span_micros

_DAY = span_micros(timedelta(days=1))
_FIRST = ("first_touch_at", "channel", "campaign_source", "campaign_medium", "campaign_name")


def person_rows(touches: DataFrame, sessions: DataFrame, conversions: DataFrame, zone: str) -> DataFrame:
    """Persons with their first touch, returns and value; not computed yet.

    Args:
        touches: rows of gold.touches that can earn credit, with person_id.
        sessions: rows of silver.sessions, with person_id.
        conversions: rows of gold.conversions.
        zone: the business time zone.
    """
    first = _first_touches(touches, conversions)
    at, day = F.unix_micros("first_touch_at"), F.to_date(F.from_utc_timestamp("first_touch_at", zone))
    came = sessions.select("person_id", "started_at").join(first, "person_id")
    is_later = F.to_date(F.from_utc_timestamp("started_at", zone)) > day
    returns = came.groupBy("person_id").agg(
        *(
            F.count_if(is_later & (F.unix_micros("started_at") - at < days * _DAY)).alias(f"returns_{days}")
            for days in AGES
        )
    )
    paid = conversions.select("person_id", "converted_at", "reporting_value").join(first, "person_id")
    values = paid.groupBy("person_id").agg(*(_value(days, at) for days in AGES))
    rows = first.join(returns, "person_id", "left").join(values, "person_id", "left")
    counts = {f"returns_{days}": F.coalesce(f"returns_{days}", F.lit(0)) for days in AGES}
    money = {f"value_{days}": F.coalesce(f"value_{days}", F.lit(0).cast("decimal(18,4)")) for days in AGES}
    hash_ = F.left(F.sha2("person_id", 256), F.lit(32))
    week = F.to_date(F.date_trunc("week", day))
    return rows.withColumns({**counts, **money, "cohort_week": week, "person_hash": hash_}).select(
        *PERSONS.column_names
    )


def _value(days: int, first: Column) -> Column:
    is_in_time = F.unix_micros("converted_at") - first < days * _DAY
    money = F.sum(F.when(is_in_time, F.col("reporting_value")))
    return money.try_cast("decimal(18,4)").alias(f"value_{days}")


def _first_touches(touches: DataFrame, conversions: DataFrame) -> DataFrame:
    """person_id and `_FIRST`: of the first touch, or of the first conversion of who has none."""
    nothing = (F.lit(None).cast("string").alias(name) for name in _FIRST[2:])
    others = conversions.withColumnsRenamed({"converted_at": "touched_at", "conversion_id": "touch_id"})
    direct = others.select("person_id", "touched_at", "touch_id", F.lit(1), F.lit("Direct"), *nothing)
    every = touches.select("person_id", "touched_at", "touch_id", F.lit(0).alias("kind"), *_FIRST[1:])
    place = F.struct("kind", "touched_at", "touch_id")
    first = F.struct(F.col("touched_at").alias("first_touch_at"), *_FIRST[1:])
    found = every.union(direct).groupBy("person_id").agg(F.min_by(first, place).alias("first"))
    return found.select("person_id", "first.*")
