"""Silver as one micro-batch of publish sees it: who is who, who is no person, what money is worth."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.batches import Batch
from lakehouse.beside import settle_all
from lakehouse.contracts.silver import BOTS, EXCHANGE_RATES, IDENTITIES
from lakehouse.instants import EPOCH
from lakehouse.tables import Lakehouse


@dataclass(frozen=True)
class View:
    """What is known of visitors and rates, read once for a micro-batch.

    It may be ahead of the micro-batch. What it is ahead by is new again with the micro-batches to come.

    Args:
        watermark: as the job before left it.
        identities: visitor_id and user_id: silver.identities.
        renamed: visitor_id and user_ids of those of whom a user was told since the last micro-batch.
        bots: visitor_id of every bot.
        new_bots: visitor_id of those that have become known since.
        rates: silver.exchange_rates.
        new_rates: those that came with this micro-batch.
        news: which of `renamed`, `new_bots` and `new_rates` have any rows.
    """

    watermark: datetime
    identities: DataFrame
    renamed: DataFrame
    bots: DataFrame
    new_bots: DataFrame
    rates: DataFrame
    new_rates: DataFrame
    news: frozenset[str]

    def people(self, rows: DataFrame) -> DataFrame:
        """The rows whose visitor is no bot."""
        return rows.join(F.broadcast(self.bots), "visitor_id", "left_anti")


def view_all(lake: Lakehouse, watermark: datetime) -> View:
    """What silver knows by now, none of it new."""
    everything = Batch(id=0, after=EPOCH, upto=EPOCH, rows=0, upstream_watermark=watermark)
    return take_view(lake, everything)


def take_view(lake: Lakehouse, batch: Batch) -> View:
    """Read what silver knows by now."""
    identities = lake.read(IDENTITIES.name)
    renamed = identities.where(batch.hears()).select("visitor_id", "user_ids")
    bots, rates = lake.read(BOTS.name).select("visitor_id", "ingested_at"), lake.read(EXCHANGE_RATES.name)
    if batch.hears_anything:
        bots, rates, renamed = settle_all(bots, rates, renamed)
    else:
        bots, rates = settle_all(bots, rates)
    new = {
        "renamed": renamed,
        "new_bots": bots.where(batch.hears()).select("visitor_id"),
        "new_rates": rates.where(batch.covers()),
    }
    asked = new if batch.hears_anything else {"new_rates": new["new_rates"]}
    return View(
        watermark=batch.upstream_watermark or EPOCH,
        identities=identities.select("visitor_id", "user_id"),
        bots=bots.select("visitor_id"),
        rates=rates,
        news=frozenset(name for name, rows in asked.items() if not rows.isEmpty()),
        **new,
    )
