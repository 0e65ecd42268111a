"""Offers and their clicks: impressions with clicks on promotions, searches with clicks on results.

A row keeps the events it was made of. Taken apart and joined again, with more events, rows come out as if
all had been there at once; so it does not matter in which order, or in which batches, they arrive.
"""

from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.silver import IMPRESSIONS, SEARCHES
from lakehouse.contracts.table import Table
from silver.clicks import place_pieces, to_micros
from silver.rules import offers as rules
from silver.rules.offers import CLICKED, OPEN, ORPHAN, UNCLICKED, OfferRule


@dataclass(frozen=True)
class Offers:
    """A table of offers.

    Args:
        table: its contract.
        rule: which clicks count, and where they belong.
        of: the columns that an offer and its clicks share.
        said: what the offer tells besides.
        gathered: column -> what it gathers from the clicks, in order, nulls left out.
    """

    table: Table
    rule: OfferRule
    of: tuple[str, ...]
    said: tuple[str, ...] = ()
    gathered: dict[str, str] = field(default_factory=dict)

    @property
    def piece(self) -> tuple[str, ...]:
        """The fields of one event in `made_of`; sorted by them, events are in order."""
        return ("at", "is_click", "event_id", *self.said, *self.gathered.values())


PROMOTIONS = Offers(IMPRESSIONS, rules.IMPRESSIONS, ("visitor_id", "promotion_id"))
RESULTS = Offers(SEARCHES, rules.SEARCHES, ("visitor_id",), ("query",), {"clicked_products": "product_id"})


def to_pieces(kind: Offers, events: DataFrame) -> DataFrame:
    """The offers and clicks among events, one row each: what they share, and `Offers.piece`."""
    is_click = F.col("role") == kind.rule.click
    return events.where(F.col("role").isin(kind.rule.offer, kind.rule.click)).select(
        *kind.of,
        F.unix_micros("event_time").alias("at"),
        is_click.alias("is_click"),
        "event_id",
        *(F.when(~is_click, F.col(name)).alias(name) for name in kind.said),
        *(F.when(is_click, F.col(name)).alias(name) for name in kind.gathered.values()),
    )


def take_apart(kind: Offers, rows: DataFrame) -> DataFrame:
    """The events that rows were made of, as `to_pieces` gives them."""
    return rows.select(*kind.of, F.inline("made_of"))


def join_pieces(kind: Offers, pieces: DataFrame) -> DataFrame:
    """Bring each counted click to its offer.

    A click that doesn't count goes where the counted one before it goes.

    Args:
        kind: the table.
        pieces: as `to_pieces` gives them. Of what they share, all from some moment on that no earlier
            event reaches beyond: see `OfferRule.reach`.

    Returns:
        The table without `is_open`; `outcome` is null where only the watermark can tell.
    """
    return _sum_up(kind, place_pieces(pieces, kind.of, kind.rule))


def mark_open(kind: Offers, rows: DataFrame, watermark: datetime) -> DataFrame:
    """Say what came of each offer, and whether an event on time may still change the row."""
    since = F.unix_micros(F.lit(watermark)) - F.unix_micros("event_time")
    pending = F.when(since >= to_micros(kind.rule.within), UNCLICKED).otherwise(OPEN)
    return rows.withColumns(
        {
            "outcome": F.coalesce(F.nullif(F.col("outcome"), F.lit(OPEN)), pending),
            "is_open": since < to_micros(kind.rule.reach),
        }
    )


def touched_offers(
    kind: Offers, rows: DataFrame, pieces: DataFrame, low: datetime, _high: datetime
) -> DataFrame:
    """The rows that late pieces may change: of what they share, all but those beyond reach of the first.

    There is no upper bound: where clicks follow each other closely, one more shifts which count, on and on.

    Args:
        kind: the table.
        rows: the table's.
        pieces: the late ones.
        low: time of the first of them; it prunes files.
    """
    firsts = pieces.groupBy(*kind.of).agg(F.min("at").alias("_first"))
    shared = [F.col(f"r.{name}") == F.col(f"f.{name}") for name in kind.of]
    near = F.unix_micros("r.event_time") > F.col("f._first") - to_micros(kind.rule.reach)
    for condition in shared:
        near = near & condition
    recent = rows.where(F.col("event_time") > F.lit(low - kind.rule.reach))
    return recent.alias("r").join(F.broadcast(firsts).alias("f"), near, "left_semi")


def _sum_up(kind: Offers, placed: DataFrame) -> DataFrame:
    is_click = F.col("_piece.is_click")
    counts = is_click & F.col("_counts")
    clicks = F.count_if(counts)
    made_of = F.struct(*(F.col(f"_piece.{name}").alias(name) for name in kind.piece))
    rows = placed.groupBy(*kind.of, "_row").agg(
        F.when(F.count_if(~is_click) == 0, ORPHAN).when(clicks > 0, CLICKED).alias("outcome"),
        F.timestamp_micros(F.min(F.when(counts, F.col("_piece.at")))).alias("first_click_at"),
        clicks.alias("clicks"),
        F.sort_array(F.collect_list(made_of)).alias("made_of"),
        *(F.max(f"_piece.{name}").alias(name) for name in kind.said),
    )
    clicked = F.filter("made_of", lambda piece: piece["is_click"])
    found = {
        "event_id": F.col("_row.event_id"),
        "event_time": F.timestamp_micros("_row.at"),
        **{column: F.array_compact(clicked[name]) for column, name in kind.gathered.items()},
    }
    return rows.withColumns(found).drop("_row")
