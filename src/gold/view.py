"""Silver as one micro-batch of publish sees it: who is who, who is no person, what money is worth."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.batches import Batch
from lakehouse.contracts.silver import BOTS, EXCHANGE_RATES, IDENTITIES
from lakehouse.frames import settle
from lakehouse.tables import Lakehouse


@dataclass(frozen=True)
class View:
    """What is known of visitors and rates, read once for a micro-batch.

    It may be ahead of the micro-batch. What it is ahead by is new again with the micro-batches to come.

    Args:
        identities: silver.identities.
        bots: visitor_id of every bot.
        new_bots: visitor_id of those that this micro-batch made known.
        rates: silver.exchange_rates.
        new_rates: those that came with this micro-batch.
    """

    identities: DataFrame
    bots: DataFrame
    new_bots: DataFrame
    rates: DataFrame
    new_rates: DataFrame

    def people(self, rows: DataFrame) -> DataFrame:
        """The rows whose visitor is no bot."""
        return rows.join(F.broadcast(self.bots), "visitor_id", "left_anti")


def take_view(lake: Lakehouse, batch: Batch) -> View:
    """Read what silver knows by now."""
    bots = settle(lake.read(BOTS.name).select("visitor_id", "ingested_at"))
    rates = settle(lake.read(EXCHANGE_RATES.name))
    return View(
        identities=settle(lake.read(IDENTITIES.name).select("visitor_id", "user_id", "user_ids")),
        bots=bots.select("visitor_id"),
        new_bots=bots.where(batch.covers()).select("visitor_id"),
        rates=rates,
        new_rates=rates.where(batch.covers()),
    )
