"""Consents: events that a purpose is granted for, by the spans of silver.consents."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.semi_join import within_spans
from lakehouse.timestamps import LAST, from_micros, to_micros

_LAST = to_micros(LAST)
_SPAN = ("visitor_id", "valid_from", "event_id", "valid_to", "to_event_id")


def with_consent(
    rows: DataFrame, consents: DataFrame, purpose: str, is_default: bool, at: tuple[str, str]
) -> DataFrame:
    """Rows of events that a purpose is granted for.

    Args:
        rows: visitor_id, and time and UID of events.
        consents: rows of silver.consents, of at least their visitors.
        purpose: a column of these.
        is_default: whether it is granted for events in none of the spans.
        at: names of the columns of times and UIDs.
    """
    others = consents.where(F.col(purpose) != F.lit(is_default))
    spans = others.select(*(F.col(name).alias(f"_{name}") for name in _SPAN))
    is_inside = (rows["visitor_id"] == F.col("_visitor_id")) & _is_in_span(*(rows[name] for name in at))
    return rows.join(spans, is_inside, "left_anti" if is_default else "left_semi")


def moments_of_new_consents(lake: Lakehouse, spans: DataFrame) -> DataFrame:
    """visitor_id and event_time of all events in spans of consent that have changed.

    Args:
        lake: the tables.
        spans: changed rows of silver.consents.
    """
    changed = spans.select(
        "visitor_id",
        F.unix_micros("valid_from").alias("low"),
        F.coalesce(F.unix_micros("valid_to") + 1, F.lit(_LAST)).alias("high"),
    )
    since = changed.agg(F.min("low")).collect()[0][0]
    events = lake.read(EVENTS.name).select("visitor_id", "event_time")
    if since is None:
        return events.limit(0)
    near = events.where(F.col("event_time") >= F.lit(from_micros(since)))
    return within_spans(near, changed, "visitor_id", "event_time")


def _is_in_span(at: Column, event: Column) -> Column:
    starts, ends = F.col("_valid_from"), F.col("_valid_to")
    is_after = (at > starts) | ((at == starts) & (event >= F.col("_event_id")))
    is_before = ends.isNull() | (at < ends) | ((at == ends) & (event < F.col("_to_event_id")))
    return is_after & is_before
