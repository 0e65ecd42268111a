"""Tables of a catalog for an export: of each table the rows that may be a person's, read through Spark."""

from functools import reduce

import narwhals as nw
import polars as pl
from polars import selectors as cs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.ops import LEDGER
from lakehouse.contracts.shop import SHOP_CHANGES
from lakehouse.contracts.silver import DUPLICATE_EVENTS, EVENTS, REJECTED_EVENTS
from lakehouse.erasure.blank_records import PLACE
from lakehouse.rows.semi_join import semi_join
from privacy.erasure.naming import naming, own_records
from privacy.export import tables
from privacy.export.own_rows import ExportRules
from privacy.identities import Person, Scan


class CatalogRows:
    """A `Scan` of polars frames with a superset of the rows of a person. Each table is collected once.

    The rows of a person, and those of other users of the same devices, have to fit in memory.

    Args:
        scan: reads tables through Spark.
        person: whose rows.
        rules: say whose a record is.
    """

    def __init__(self, scan: Scan, person: Person, rules: ExportRules) -> None:
        self._scan = scan
        self._person = person
        self._rules = rules
        self._read: dict[str, pl.DataFrame | None] = {}

    def __call__(self, name: str) -> "nw.LazyFrame[pl.LazyFrame] | None":
        """The rows of a table; None if it does not exist, or has no rows of persons."""
        if name not in self._read:
            rows = self._rows(name)
            self._read[name] = None if rows is None else _to_polars(rows)
        found = self._read[name]
        return None if found is None else nw.from_native(found.lazy())

    def _table(self, name: str) -> DataFrame | None:
        table = self._scan(name)
        return None if table is None else table.to_native()

    def _rows(self, name: str) -> DataFrame | None:
        table = self._table(name)
        if table is None:
            return None
        if name == LEDGER.name:
            return _positions(table)
        if name in (*tables.BY_SPAN, *tables.BY_MINUTE, *tables.BY_VISITOR, *tables.BY_USER):
            return table.where(self._is_theirs(table))
        if name in tables.BY_PERSON:
            return table.where(F.col("person_id").isin(self._person.texts))
        if name in tables.BY_CONVERSION:
            return self._joined(table, "gold.conversions", "conversion_id")
        if name in tables.BY_TEXT:
            return self._naming(table, tables.BY_TEXT[name])
        if name in tables.BY_CUSTOMER:
            return table.where(F.col("customer_id").isin(sorted(self._person.users)))
        return self._of_records(name, table) if name in tables.BY_RECORD else None

    def _of_records(self, name: str, table: DataFrame) -> DataFrame:
        if name == SHOP_CHANGES.name:
            both = table.withColumn("_text", F.concat_ws(" ", "row", "row_key"))
            return self._naming(both, "_text").drop("_text")
        if name == REJECTED_EVENTS.name:
            return self._own(table.withColumn("key", F.lit(None).cast("binary"))).drop("key")
        if name == DUPLICATE_EVENTS.name:
            return self._joined(table, EVENTS.name, "event_id")
        return self._records(table)

    def _is_theirs(self, table: DataFrame) -> Column:
        is_theirs = F.col("visitor_id").isin(sorted(self._person.visitors))
        if "user_id" in table.columns:
            is_theirs |= F.col("user_id").isin(sorted(self._person.users))
        return is_theirs

    def _joined(self, table: DataFrame, other: str, column: str) -> DataFrame:
        rows = self._rows(other)
        return table.limit(0) if rows is None else semi_join(table, rows, column)

    def _naming(self, table: DataFrame, column: str) -> DataFrame:
        return naming(table, self._person.own_texts, column)

    def _own(self, records: DataFrame) -> DataFrame:
        return own_records(records, self._person.own_texts, self._rules.placeholders)

    def _records(self, table: DataFrame) -> DataFrame:
        """Records that are known by their place, and records that are not in silver yet."""
        sources = (EVENTS.name, DUPLICATE_EVENTS.name, REJECTED_EVENTS.name, SHOP_CHANGES.name)
        found = [rows.select(*PLACE) for name in sources if (rows := self._rows(name)) is not None]
        is_of_shop = F.col("topic") == self._rules.shop_topic
        new = self._new(table.where(~is_of_shop), "refine")
        new_changes = self._new(table.where(is_of_shop), "dimensions")
        found += [self._own(new).select(*PLACE), self._naming(new_changes, "value").select(*PLACE)]
        return semi_join(table, reduce(DataFrame.unionByName, found).distinct(), *PLACE)

    def _new(self, records: DataFrame, job: str) -> DataFrame:
        """Records that a job has not processed yet."""
        ledger = self._rows(LEDGER.name)
        processed = {} if ledger is None else {row["job"]: row["position"] for row in ledger.collect()}
        return records.where(F.col("ingested_at") > F.lit(processed[job])) if job in processed else records


def _positions(ledger: DataFrame) -> DataFrame:
    """By job that writes silver from bronze, the ingest stamp up to which it has processed records."""
    of_jobs = ledger.where(F.col("job").isin("refine", "dimensions"))
    return of_jobs.groupBy("job").agg(F.max("position").alias("position"))


def _to_polars(rows: DataFrame) -> pl.DataFrame:
    frame = pl.DataFrame(rows.toArrow())
    return frame.with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC"))
