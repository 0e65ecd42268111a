"""Dimensions of a micro-batch: identities, bots and exchange rates, as frames."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.silver import BOTS, EXCHANGE_RATES, IDENTITIES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.semi_join import semi_join, without
from lakehouse.run.microbatch import Batch, stamped_within
from lakehouse.timestamps import EPOCH, to_micros


@dataclass(frozen=True)
class Dimensions:
    """Identities, bots and exchange rates.

    They may include later rows than the micro-batch. Later micro-batches report these rows as new again.

    Args:
        lake: the tables.
        watermark: the watermark of the upstream job, in microseconds.
        of_side_input: a condition: the ingest stamp of a row is in the micro-batch's side input.
        has_new_bots: whether bots were found since the last micro-batch.
        has_renamed: whether visitors were identified since the last micro-batch.
        new_rates: a condition: an exchange rate arrived in this micro-batch.
        has_new_rates: whether there are such rates.
    """

    lake: Lakehouse
    watermark: int
    of_side_input: Column
    has_new_bots: bool
    has_renamed: bool
    new_rates: Column
    has_new_rates: bool

    @property
    def bots(self) -> DataFrame:
        """visitor_id of every bot."""
        return self.lake.read(BOTS.name).select("visitor_id")

    @property
    def new_bots(self) -> DataFrame:
        """visitor_id of the bots found since the last micro-batch."""
        return self.lake.read(BOTS.name).where(self.of_side_input).select("visitor_id")

    @property
    def renamed(self) -> DataFrame:
        """visitor_id and user_ids of the visitors identified since the last micro-batch."""
        return self.lake.read(IDENTITIES.name).where(self.of_side_input).select("visitor_id", "user_ids")

    @property
    def rates(self) -> DataFrame:
        """Exchange rates; the new ones meet `new_rates`."""
        return self.lake.read(EXCHANGE_RATES.name)

    def people(self, rows: DataFrame) -> DataFrame:
        """Rows of visitors that are no bots."""
        return rows.join(self.bots, "visitor_id", "left_anti")

    def bots_among(self, visitors: DataFrame) -> DataFrame:
        """visitor_id of those visitors of a micro-batch that are bots."""
        return semi_join(self.bots, visitors, "visitor_id")

    def persons_of(self, visitors: DataFrame) -> DataFrame:
        """visitor_id and person_id of visitors of a micro-batch: the user id, else the visitor_id.

        Args:
            visitors: visitor_id, each once.
        """
        known = self.lake.read(IDENTITIES.name).select("visitor_id", "user_id")
        found = visitors.join(F.broadcast(semi_join(known, visitors, "visitor_id")), "visitor_id", "left")
        return found.select("visitor_id", F.coalesce("user_id", "visitor_id").alias("person_id"))

    def visitors_of(self, persons: DataFrame) -> DataFrame:
        """visitor_id, person_id and the other columns, for all visitors of persons of a micro-batch.

        A visitor without a user id is its own person, and is assumed to exist.

        Args:
            persons: person_id, each once, and other columns.
        """
        known = self.lake.read(IDENTITIES.name).select("visitor_id", "user_id")
        columns = ("visitor_id", *persons.columns)
        named = known.join(F.broadcast(persons), known["user_id"] == persons["person_id"]).select(*columns)
        alone = persons.withColumn("visitor_id", F.col("person_id"))
        elsewhere = semi_join(known, alone, "visitor_id")
        return named.unionByName(without(alone, elsewhere, "visitor_id").select(*columns))


class DimensionLoader:
    """Loads dimensions.

    Args:
        lake: the tables, as publish reads them.
    """

    def __init__(self, lake: Lakehouse) -> None:
        self._lake = lake

    def load(self, batch: Batch) -> Dimensions:
        """The dimensions of a micro-batch; the driver gets the names of tables with new rows."""
        of_side_input = stamped_within(batch.side_input_after, batch.side_input_upto)
        new_rates = stamped_within(batch.after, batch.upto)
        conditions = {EXCHANGE_RATES.name: new_rates}
        if batch.has_side_input:
            conditions |= {BOTS.name: of_side_input, IDENTITIES.name: of_side_input}
        after = {EXCHANGE_RATES.name: batch.after}
        has_new = self._tables_with(
            {
                name: condition
                for name, condition in conditions.items()
                if self._lake.has_commit_after(name, after.get(name, batch.side_input_after))
            }
        )
        return Dimensions(
            lake=self._lake,
            watermark=to_micros(batch.upstream_watermark or EPOCH),
            of_side_input=of_side_input,
            has_new_bots=BOTS.name in has_new,
            has_renamed=IDENTITIES.name in has_new,
            new_rates=new_rates,
            has_new_rates=EXCHANGE_RATES.name in has_new,
        )

    def load_all(self, watermark: datetime) -> Dimensions:
        """The current dimensions, none of them new."""
        return self.load(Batch(id=0, after=EPOCH, upto=EPOCH, rows=0, upstream_watermark=watermark))

    def _tables_with(self, conditions: Mapping[str, Column]) -> frozenset[str]:
        """The tables that have rows for which their condition holds."""
        rows = [
            self._lake.read(name).where(condition).select(F.lit(name).alias("name"))
            for name, condition in conditions.items()
        ]
        return (
            frozenset(name for (name,) in reduce(DataFrame.union, rows).distinct().collect())
            if rows
            else frozenset()
        )
