"""What lies near the events of a micro-batch: all that they may bear on."""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gold.spans import Stretch, inside, widen
from gold.view import View
from lakehouse.beside import settle_all
from lakehouse.contracts.silver import EVENTS, SESSIONS
from lakehouse.frames import settle
from lakehouse.tables import Lakehouse

_EVENT = (
    "event_id", "visitor_id", "event_time", "type", "role", "url", "referrer", "channel", "campaign_source",
    "campaign_medium", "campaign_name", "promotion_id", "goal", "order_id", "value", "currency",
    "rules_version",
)  # fmt: skip
_SLOT = timedelta(minutes=10)  # sessions last that long, or a few times as long


@dataclass(frozen=True)
class Near:
    """The spans of some moments, and what silver has of them.

    Args:
        spans: as `gold.spans.widen` gives them.
        stretch: the stretches of time that they lie in.
        events: silver.events inside, without those of bots.
        sessions: silver.sessions inside, the same.
    """

    spans: DataFrame
    stretch: Stretch
    events: DataFrame
    sessions: DataFrame


def look_near(lake: Lakehouse, moments: DataFrame, view: View) -> Near:
    """What lies around some moments.

    Args:
        lake: the tables.
        moments: visitor_id and at, of people.
        view: what silver knows.
    """
    then = Stretch(moments, "at")
    visitors = F.broadcast(moments.select("visitor_id").distinct())
    sessions = lake.read(SESSIONS.name).where(then.meets("started_at", "ended_at"))
    theirs = settle(sessions.join(visitors, "visitor_id", "left_semi"))
    spans = settle(widen(moments, theirs))
    stretch = Stretch(spans, "low", "high", slot=_SLOT)
    events = view.people(lake.read(EVENTS.name)).where(stretch.holds("event_time")).select(*_EVENT)
    near, whole = settle_all(inside(events, "event_time", spans), inside(theirs, "started_at", spans))
    return Near(spans=spans, stretch=stretch, events=near, sessions=whole)
