"""The touches of a micro-batch: those that stood where it looked, and those that stand there now."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gold.near import Near
from gold.persons import name_persons
from gold.spans import inside
from gold.touches import find_touches
from gold.view import View
from lakehouse.beside import settle_all
from lakehouse.contracts.gold import TOUCHES
from lakehouse.frames import settle
from lakehouse.tables import Lakehouse


@dataclass(frozen=True)
class Touched:
    """What becomes of gold.touches.

    Args:
        table: gold.touches as it stands.
        before: its rows that the micro-batch looked at.
        now: what is in their place.
        near: where it looked.
        view: what silver knows.
    """

    table: DataFrame
    before: DataFrame
    now: DataFrame
    near: Near
    view: View

    def changed(self) -> DataFrame:
        """person_id and touched_at of touches that came, went or are others now."""
        came, went = self.now.exceptAll(self.before), self.before.exceptAll(self.now)
        moments = came.unionByName(went).select("visitor_id", "touched_at")
        return name_persons(settle(moments.distinct()), self.view.identities).select(
            "person_id", "touched_at"
        )

    def those(self, condition: Column) -> DataFrame:
        """All touches that meet a condition, as they are to be."""
        rest = inside(self.table.where(condition), "touched_at", self.near.spans, "left_anti")
        if "new_bots" in self.view.news:
            rest = rest.join(F.broadcast(self.view.new_bots), "visitor_id", "left_anti")
        return rest.unionByName(self.now.where(condition))


def touch_again(lake: Lakehouse, near: Near, view: View) -> Touched:
    """Find the touches near a micro-batch's events; those of new bots are gone."""
    table = lake.read(TOUCHES.name)
    here = inside(table.where(near.stretch.holds("touched_at")), "touched_at", near.spans)
    if "new_bots" in view.news:
        of_bots = table.join(F.broadcast(view.new_bots), "visitor_id", "left_semi")
        here = here.unionByName(of_bots)
    before, now = settle_all(here, find_touches(near.events, near.sessions))
    return Touched(table, before, now, near, view)
