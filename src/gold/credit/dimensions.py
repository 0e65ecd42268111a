"""Dimensions of a micro-batch: identities, bots, consents and exchange rates, as frames."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from folds.consent_rules import Purposes, load_consent_rules
from gold.credit.consents import with_consent
from gold.credit.persons import SPAN, with_person
from lakehouse.contracts.consents import CONSENTS
from lakehouse.contracts.silver import BOTS, EXCHANGE_RATES, IDENTITIES
from lakehouse.contracts.table import Table
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.batch_source import Batch
from lakehouse.run.microbatch import stamped_within
from lakehouse.timestamps import EPOCH, FIRST, LAST, to_micros

_FIRST, _LAST = to_micros(FIRST), to_micros(LAST)


@dataclass(frozen=True)
class Dimensions:
    """Identities, bots, consents and exchange rates.

    They may include later rows than the micro-batch. Later micro-batches report these rows as new again.

    Args:
        lake: the tables.
        watermark: the watermark of the upstream job, in microseconds.
        of_side_input: a condition: the ingest stamp of a row is in the micro-batch's side input.
        has_new_bots: whether bots were found since the last micro-batch.
        has_renamed: whether events may have got another person since the last micro-batch.
        has_new_consents: whether what events may be used for has changed since the last micro-batch.
        defaults: purposes that are granted at events in no span of consent.
        new_rates: a condition: an exchange rate arrived in this micro-batch.
        has_new_rates: whether there are such rates.
    """

    lake: Lakehouse
    watermark: int
    of_side_input: Column
    has_new_bots: bool
    has_renamed: bool
    has_new_consents: bool
    defaults: Purposes
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
        """visitor_id and user_id of spans that changed since the last micro-batch, and their bounds.

        Bounds are `low` and `high`, both included, in microseconds.
        """
        rows = self.lake.read(IDENTITIES.name).where(self.of_side_input)
        low = F.coalesce(F.unix_micros("valid_from"), F.lit(_FIRST)).alias("low")
        high = F.coalesce(F.unix_micros("valid_to"), F.lit(_LAST)).alias("high")
        return rows.select("visitor_id", "user_id", low, high)

    @property
    def consents(self) -> DataFrame:
        """silver.consents."""
        return self._rows(CONSENTS)

    @property
    def new_consents(self) -> DataFrame:
        """Rows of silver.consents that changed since the last micro-batch."""
        return self.consents.where(self.of_side_input)

    @property
    def rates(self) -> DataFrame:
        """Exchange rates; the new ones meet `new_rates`."""
        return self._rows(EXCHANGE_RATES)

    def _rows(self, table: Table) -> DataFrame:
        """Rows of a table that many homes never fill: as long as it has none, Spark plans no scan."""
        rows = self.lake.read(table.name)
        return rows if self.lake.version(table.name) else rows.limit(0)

    def people(self, rows: DataFrame) -> DataFrame:
        """Rows of visitors that are no bots."""
        return rows.join(self.bots, "visitor_id", "left_anti")

    def counted(self, rows: DataFrame, time: str, event: str) -> DataFrame:
        """Rows of events that count in figures of visitors: of people, with consent to analytics.

        Args:
            rows: visitor_id, and time and UID of events.
            time: name of the time column.
            event: name of the column of UIDs.
        """
        people = self.people(rows)
        if self._grants_all(self.defaults.analytics):
            return people
        return with_consent(people, self.consents, "analytics", self.defaults.analytics, (time, event))

    def credited(self, views: DataFrame, visitors: DataFrame | None = None) -> DataFrame:
        """Events with consent to attribution.

        Args:
            views: rows of silver.events.
            visitors: visitor_id of their visitors, if they are those of a micro-batch.
        """
        if self._grants_all(self.defaults.attribution):
            return views
        spans = self.consents
        if visitors is not None:
            spans = F.broadcast(semi_join(spans, visitors, "visitor_id"))
        at = ("event_time", "event_id")
        return with_consent(views, spans, "attribution", self.defaults.attribution, at)

    def _grants_all(self, default: bool) -> bool:
        """Whether a purpose is granted at all events: no visitor has ever stated anything else."""
        return default and not self.lake.version(CONSENTS.name)

    def bots_among(self, visitors: DataFrame) -> DataFrame:
        """visitor_id of those visitors of a micro-batch that are bots."""
        return semi_join(self.bots, visitors, "visitor_id")

    def identities_of(self, visitors: DataFrame) -> DataFrame:
        """Rows of silver.identities of visitors of a micro-batch.

        Args:
            visitors: visitor_id.
        """
        return semi_join(self.lake.read(IDENTITIES.name), visitors, "visitor_id")

    def with_person(self, rows: DataFrame, time: str) -> DataFrame:
        """Add person_id to few rows with visitor_id, event_id and a time; see `with_person`."""
        return with_person(rows, F.broadcast(self.identities_of(rows)), time)

    def spans_of(self, persons: DataFrame) -> DataFrame:
        """visitor_id, `SPAN`, person_id and the other columns, for all spans of persons of a micro-batch.

        A visitor without a user id is its own person, and is assumed to exist.

        Args:
            persons: person_id, each once, and other columns.
        """
        columns, is_theirs = persons.columns, F.col("user_id") == F.col("person_id")
        ids = F.explode(F.array_distinct(F.array("user_id", "visitor_id"))).alias("person_id")
        known = self.lake.read(IDENTITIES.name).select("visitor_id", "user_id", *SPAN, ids)
        found = known.join(F.broadcast(persons), "person_id").select(
            *columns,
            F.when(is_theirs, F.struct("visitor_id", *SPAN)).alias("span"),
            (F.col("visitor_id") == F.col("person_id")).alias("is_known"),
        )
        types = {column.name: column.type for column in IDENTITIES.columns}
        unbounded = [F.lit(None).cast(types[name]).alias(name) for name in SPAN]
        own = F.array(F.struct(F.col("person_id").alias("visitor_id"), *unbounded))
        none = F.lit(None).cast(found.schema["span"].dataType)
        asked = persons.withColumns({"span": none, "is_known": F.lit(False)})
        named = found.unionByName(asked).groupBy(*columns)
        spans, is_known = F.collect_set("span"), F.bool_or("is_known")
        theirs = named.agg(F.concat(spans, F.when(~is_known, own).otherwise(F.array())).alias("spans"))
        return theirs.select(F.explode("spans").alias("span"), *columns).select("span.*", *columns)


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
        of_bots, of_identities, of_consents = (
            batch.has_side_input and self._lake.has_commit_after(table.name, batch.side_input_after)
            for table in (BOTS, IDENTITIES, CONSENTS)
        )
        conditions = {EXCHANGE_RATES.name: new_rates} if of_rates else {}
        has_new = self._tables_with(conditions | ({BOTS.name: of_side_input} if of_bots else {}))
        return Dimensions(
            lake=self._lake,
            watermark=to_micros(batch.upstream_watermark or EPOCH),
            of_side_input=of_side_input,
            has_new_bots=BOTS.name in has_new,
            has_renamed=of_identities,
            has_new_consents=of_consents,
            defaults=load_consent_rules(self._lake.settings.conf).defaults,
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
