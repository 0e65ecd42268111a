"""The viewer's filters, applied to queries."""

from dataclasses import dataclass

import polars as pl
from period import Period
from tables.query import Query

from folds.persons.models import MODELS as RULE_MODELS

MODEL_NAMES = {
    "first": "First touch",
    "last": "Last touch",
    "last_non_direct": "Last non-direct",
    "linear": "Linear",
    "position_based": "Position-based",
    "time_decay": "Time decay",
    "markov": "Markov chain",
    "shapley": "Shapley value",
}
"""How the pages write the models of gold.attribution and gold.channel_credit."""

MODELS = tuple(RULE_MODELS)
"""Names of the rule models, in gold.attribution."""

_NAMES = ("campaign_name", "promotion_id")


@dataclass(frozen=True)
class Scope:
    """A period, channels and campaigns. An empty tuple means all of them."""

    period: Period
    channels: tuple[str, ...] = ()
    campaigns: tuple[str, ...] = ()

    def within(self, query: Query, time: str) -> Query:
        """Filter by a time column: only times in the period."""
        return query.within(time, self.period.start, self.period.end)

    def of_days(self, query: Query) -> Query:
        """Filter by `day`: only days that the period overlaps."""
        first, last = self.period.days
        return query.only("day", ">=", first).only("day", "<=", last)

    def windows(self, query: Query, kind: str) -> Query:
        """Filter windows of a kind: those of the chosen channels, else those over all channels."""
        asked = self.within(query.only("window_kind", "=", kind), "window_start")
        return asked.one_of("channel", self.channels) if self.channels else asked.only("channel", "null")

    def campaign_of(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add the column `campaign` (its name, else the promotion), and keep only the chosen campaigns."""
        there = [name for name in _NAMES if name in rows.columns]
        named = rows.with_columns(campaign=pl.coalesce(there))
        return named.filter(pl.col("campaign").is_in(self.campaigns)) if self.campaigns else named
