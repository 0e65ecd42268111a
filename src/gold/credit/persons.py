"""Persons of touches and goals: whose a visitor's event is at its time, by the spans of silver.identities."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

SPAN = ("valid_from", "from_event_id", "valid_to", "to_event_id")
"""Columns of silver.identities that bound a span."""


def with_person(rows: DataFrame, identities: DataFrame, time: str) -> DataFrame:
    """Add `person_id`: the user id of the span that an event is in, else the visitor.

    Args:
        rows: visitor_id, event_id and the time of events.
        identities: rows of silver.identities, of at least their visitors.
        time: name of the time column.
    """
    spans = identities.select(F.col("visitor_id").alias("_visitor"), F.col("user_id").alias("_user"), *SPAN)
    is_inside = (F.col("visitor_id") == F.col("_visitor")) & is_in_span(time, "event_id")
    person = F.coalesce("_user", "visitor_id").alias("person_id")
    columns = [name for name in rows.columns if name != "person_id"]
    return rows.join(spans, is_inside, "left").select(*columns, person)


def is_in_span(time: str, event: str) -> Column:
    """A condition: an event is in the span with the columns `SPAN`.

    Args:
        time: name of the column of its time.
        event: name of the column of its UID.
    """
    at, uid = F.col(time), F.col(event)
    starts, ends = F.col("valid_from"), F.col("valid_to")
    is_after = starts.isNull() | (at > starts) | ((at == starts) & (uid >= F.col("from_event_id")))
    is_before = ends.isNull() | (at < ends) | ((at == ends) & (uid < F.col("to_event_id")))
    return is_after & is_before


def touches_span(time: str) -> Column:
    """A condition: a time is in the span with the columns `SPAN`, or is one of its bounds."""
    at, starts, ends = F.col(time), F.col("valid_from"), F.col("valid_to")
    return (starts.isNull() | (at >= starts)) & (ends.isNull() | (at <= ends))
