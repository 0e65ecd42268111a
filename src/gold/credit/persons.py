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


def with_own_views(touches: DataFrame, spans: DataFrame) -> DataFrame:
    """Touches without the `view` of another person: an impression that led to a visit without a click.

    Args:
        touches: rows of gold.touches, with person_id.
        spans: visitor_id, person_id and `SPAN`, of at least the persons of the touches.
    """
    theirs = spans.select(F.col("visitor_id").alias("_visitor"), F.col("person_id").alias("_person"), *SPAN)
    is_same = (F.col("visitor_id") == F.col("_visitor")) & (F.col("person_id") == F.col("_person"))
    found = touches.join(theirs, is_same & is_in_span("view.at", "view.event_id"), "left")
    view = F.when(F.col("_person").isNotNull(), F.col("view"))
    return found.withColumn("view", view).select(*touches.columns)


def all_spans(identities: DataFrame, visitors: DataFrame) -> DataFrame:
    """visitor_id, person_id and `SPAN`: the rows of silver.identities, and one for each other visitor.

    Args:
        identities: silver.identities.
        visitors: visitor_id.
    """
    known = identities.select("visitor_id", F.col("user_id").alias("person_id"), *SPAN)
    others = visitors.select("visitor_id").distinct().join(known, "visitor_id", "left_anti")
    return known.unionByName(others.withColumn("person_id", F.col("visitor_id")), allowMissingColumns=True)


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
