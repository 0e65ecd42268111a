"""What new events may change in gold: whose conversions, and which windows."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.conversions import conversion_id
from gold.persons import name_persons
from gold.traffic import minute_of


def affected_persons(fresh: DataFrame, events: DataFrame, identities: DataFrame) -> DataFrame:
    """Persons that the visitors of new events are, were, or may have been taken for.

    Args:
        fresh: new rows of silver.events.
        events: silver.events, the new rows included.
        identities: visitor_id, user_id.

    Returns:
        person_id, each once.
    """
    visitors = fresh.select("visitor_id").distinct()
    now = name_persons(visitors, identities).select("person_id")
    alone = visitors.select(F.col("visitor_id").alias("person_id"))
    said = events.where(F.col("user_id").isNotNull()).select(
        "visitor_id", F.col("user_id").alias("person_id")
    )
    ever = said.join(F.broadcast(visitors), "visitor_id", "left_semi").select("person_id")
    return now.unionByName(alone).unionByName(ever).distinct()


def affected_conversions(
    anchored: DataFrame, published: DataFrame, fresh: DataFrame, persons: DataFrame
) -> DataFrame:
    """Conversions that new events may change: by person, by order, or by the watermark alone.

    Args:
        anchored: every conversion, as `gold.conversions.anchor_refunds` gives them.
        published: gold.conversions as it stands.
        fresh: new rows of silver.events.
        persons: person_id, as `affected_persons` gives them.

    Returns:
        conversion_id, each once.
    """
    reached = fresh.where(F.col("goal").isNotNull()).select(conversion_id().alias("conversion_id"))
    pending = published.where(~F.col("is_final")).select("conversion_id")
    ids = [reached, pending]
    for owner in ("person_id", "anchor_person"):
        owned = anchored.join(
            F.broadcast(persons.select(F.col("person_id").alias(owner))), owner, "left_semi"
        )
        ids.append(owned.select("conversion_id"))
    taken_back = F.broadcast(reached.select(F.col("conversion_id").alias("anchor_id")))
    ids.append(anchored.join(taken_back, "anchor_id", "left_semi").select("conversion_id"))
    union = ids[0]
    for more in ids[1:]:
        union = union.unionByName(more)
    return union.distinct()


def affected_windows(
    fresh: DataFrame, events: DataFrame, sessions: DataFrame, converted: DataFrame, published: DataFrame
) -> DataFrame:
    """Windows that new events may change.

    Their own; those of every event in a session that they joined, whose channel may be another now;
    those of conversions that came, moved or went; and those not complete yet.

    Args:
        fresh: new rows of silver.events.
        events: silver.events, the new rows included.
        sessions: silver.sessions, the new rows included.
        converted: converted_at of conversions, before and after.
        published: gold.traffic as it stands.

    Returns:
        window_start, each once.
    """
    grown = _sessions_of(fresh, sessions)
    members = events.select("visitor_id", "event_time").join(
        F.broadcast(grown),
        (F.col("visitor_id") == F.col("_who")) & F.col("event_time").between(F.col("_from"), F.col("_to")),
        "left_semi",
    )
    times = [fresh.select("event_time"), members.select("event_time"), converted.toDF("event_time")]
    windows = published.where(~F.col("is_complete")).select("window_start")
    for time in times:
        windows = windows.unionByName(time.select(minute_of("event_time").alias("window_start")))
    return windows.distinct()


def _sessions_of(fresh: DataFrame, sessions: DataFrame) -> DataFrame:
    spans = sessions.select(
        F.col("visitor_id").alias("_who"), F.col("started_at").alias("_from"), F.col("ended_at").alias("_to")
    )
    inside = (F.col("visitor_id") == F.col("_who")) & F.col("event_time").between(
        F.col("_from"), F.col("_to")
    )
    moments = fresh.select("visitor_id", "event_time")
    return spans.join(F.broadcast(moments), inside, "left_semi")
