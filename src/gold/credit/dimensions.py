"""Dimensions of a micro-batch: identities, bots and exchange rates, as frames."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.silver import BOTS, EXCHANGE_RATES, IDENTITIES
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.semi_join import semi_join
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
        has_renamed: whether visitors may have been identified since the last micro-batch.
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
        columns, is_named = persons.columns, F.col("user_id") == F.col("person_id")
        ids = F.explode(F.array_distinct(F.array("user_id", "visitor_id"))).alias("person_id")
        known = self.lake.read(IDENTITIES.name).select("visitor_id", "user_id", ids)
        found = known.join(F.broadcast(persons), "person_id").select(
            *columns,
            F.when(is_named, F.col("visitor_id")).alias("named"),
            (F.col("visitor_id") == F.col("person_id")).alias("is_known"),
        )
        none = {"named": F.lit(None).cast("string"), "is_known": F.lit(False)}
        named = found.unionByName(persons.withColumns(none)).groupBy(*columns)
        visitors, is_known = F.collect_set("named"), F.bool_or("is_known")
        alone = F.when(is_known, F.array()).otherwise(F.array("person_id"))
        theirs = named.agg(F.array_union(visitors, alone).alias("visitors"))
        return theirs.select(F.explode("visitors").alias("visitor_id"), *columns)


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
        of_rates = self._lake.has_commit_after(EXCHANGE_RATES.name, batch.after)
        of_bots, of_identities = (
            batch.has_side_input and self._lake.has_commit_after(table.name, batch.side_input_after)
            for table in (BOTS, IDENTITIES)
        )
        conditions = {EXCHANGE_RATES.name: new_rates} if of_rates else {}
        has_new = self._tables_with(conditions | ({BOTS.name: of_side_input} if of_bots else {}))
        return Dimensions(
            lake=self._lake,
            watermark=to_micros(batch.upstream_watermark or EPOCH),
            of_side_input=of_side_input,
            has_new_bots=BOTS.name in has_new,
            has_renamed=of_identities,
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
