"""What a micro-batch may change in gold: whose conversions, and which windows."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.conversions import conversion_id
from gold.rates import rated_by
from gold.traffic import minute_of
from gold.view import View

_EVER = (-(10**17), 10**17)  # microseconds: no event is before or after


def affected_persons(fresh: DataFrame, view: View) -> DataFrame:
    """Persons that the visitors of new events, and new bots, are, were, or may have been taken for.

    Args:
        fresh: new rows of silver.events.
        view: what silver knows.

    Returns:
        person_id, each once.
    """
    visitors = fresh.select("visitor_id").unionByName(view.new_bots).distinct()
    known = view.identities.join(F.broadcast(visitors), "visitor_id", "left_semi")
    ever = known.select(F.explode("user_ids").alias("person_id"))
    alone = visitors.select(F.col("visitor_id").alias("person_id"))
    return alone.unionByName(ever).distinct()


def affected_conversions(
    anchored: DataFrame, published: DataFrame, fresh: DataFrame, persons: DataFrame, view: View
) -> DataFrame:
    """Conversions that may change: by person, by order, by rate, by the watermark alone; and those of bots.

    Args:
        anchored: every conversion, as `gold.conversions.anchor_refunds` gives them.
        published: gold.conversions as it stands.
        fresh: new rows of silver.events.
        persons: person_id, as `affected_persons` gives them.
        view: what silver knows.

    Returns:
        conversion_id, each once; some may be there no longer.
    """
    reached = fresh.where(F.col("goal").isNotNull())
    of_bots = published.join(F.broadcast(view.bots), "visitor_id", "left_semi")
    orders = reached.select("order_id").unionByName(of_bots.select("order_id")).distinct()
    ids = [
        reached.select(conversion_id().alias("conversion_id")),
        of_bots,
        published.where(~F.col("is_final")),
        anchored.join(F.broadcast(orders), "order_id", "left_semi"),  # refunds, whose order is another now
        rated_by(anchored, view.new_rates),
    ]
    for owner in ("person_id", "anchor_person"):
        theirs = F.broadcast(persons.select(F.col("person_id").alias(owner)))
        ids.append(anchored.join(theirs, owner, "left_semi"))
    return reduce(DataFrame.unionByName, (rows.select("conversion_id") for rows in ids)).distinct()


def affected_windows(
    fresh: DataFrame,
    events: DataFrame,
    sessions: DataFrame,
    converted: DataFrame,
    published: DataFrame,
    new_bots: DataFrame,
) -> DataFrame:
    """Windows that may change.

    Those of new events; those of every event in a session that they joined, whose channel may be another
    now; those of conversions that came, moved or went; those of every event of a new bot; and those not
    complete yet.

    Args:
        fresh: new rows of silver.events.
        events: silver.events, the new rows included.
        sessions: silver.sessions, the new rows included.
        converted: converted_at of conversions, before and after.
        published: gold.traffic as it stands.
        new_bots: visitor_id.

    Returns:
        window_start, each once.
    """
    since, until = (F.timestamp_micros(F.lit(micros)) for micros in _EVER)
    gone = new_bots.select(F.col("visitor_id").alias("_who"), since.alias("_from"), until.alias("_to"))
    grown = _sessions_of(fresh, sessions).unionByName(gone)
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
