"""Finds changes of erased customers: copies, late ones, and what a rebuild reads again."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from folds.shop.row_history import DELETE
from lakehouse.contracts.ops import ERASED_IDENTITIES, ERASED_RECORDS
from lakehouse.contracts.shop import SHOP_CHANGES
from lakehouse.erasure.blank_records import PLACE, blank_records
from lakehouse.erasure.erased_tables import ErasedTables
from lakehouse.erasure.keyed_hash import ROW, USER, ErasureKey, KeyedHash
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.semi_join import semi_join, without
from lakehouse.run.batch_source import Batch
from lakehouse.run.microbatch import stamped_within
from shop.change_parser import CHANGE, ERASED, TOMBSTONE
from shop.customers import customers_of
from shop.erasure import hash_of_row
from shop.shop_file import ShopRules


class ErasedChanges(ErasedTables):
    """What has been erased, as records of the shop's database are compared with it.

    A change is erased if it was committed before its row or its customer was erased. A delete, and a
    tombstone, of an erased row says nothing but its key: it is erased whenever it comes, unless the row is
    there again.
    """

    def mark_batch(self, parsed: DataFrame, rules: ShopRules) -> DataFrame:
        """Set the class of erased records of a micro-batch to `ERASED`.

        Args:
            parsed: output of `shop.change_parser.parse_records`. Checkpointed.
            rules: of the shop's database.
        """
        lake = self._lake
        hashes = KeyedHash(ErasureKey(lake.settings.home).require())
        spans = lake.read(ERASED_IDENTITIES.name).where(F.col("kind").isin(ROW, USER))
        until = F.max("erased_at").alias("erased_at")
        spans = checkpoint(spans.groupBy("kind", "identity_hash").agg(until))
        rows = _named(parsed.withColumn("identity_hash", hash_of_row(hashes)), spans, ROW, CHANGE)
        customers = parsed.withColumn("user_id", F.explode(customers_of(rules)))
        customers = customers.withColumn("identity_hash", hashes.column(USER, F.col("user_id")))
        before = rows.union(_named(customers, spans, USER, CHANGE)).where("committed_at < erased_at")
        listed = semi_join(lake.read(ERASED_RECORDS.name).select(*PLACE), parsed, *PLACE)
        found = checkpoint(before.select(*PLACE).union(listed).distinct())
        keys = parsed.withColumn("identity_hash", hashes.column(ROW, F.col("record_key")))
        tombstones = _named(keys, spans, ROW, TOMBSTONE).select(*PLACE)
        deletes = rows.where(F.col("kind") == DELETE)
        stays = without(parsed, found, *PLACE).where(
            (F.col("record_class") == CHANGE) & (F.col("kind") != DELETE)
        )
        known = semi_join(lake.read(SHOP_CHANGES.name), deletes, "row_hash").select("row_hash")
        deletes = without(deletes, known.union(stays.select("row_hash")), "row_hash").select(*PLACE)
        return _mark(parsed, found.union(tombstones).union(deletes).distinct())

    def erase(self, marked: DataFrame, batch: Batch) -> None:
        """List the erased records of a micro-batch, and remove their content from bronze."""
        arrived = {
            "record_class": F.lit("arrived"),
            "uid_hash": F.lit(None).cast("binary"),
            "request": F.lit(None).cast("string"),
            "erased_at": F.col("ingested_at"),
        }
        theirs = marked.where(F.col("record_class") == ERASED).withColumns(arrived)
        rows = checkpoint(theirs.select(*ERASED_RECORDS.column_names))
        known = self._lake.read(ERASED_RECORDS.name).where(stamped_within(batch.after, batch.upto))
        self._lake.append(ERASED_RECORDS.name, without(rows, known, *PLACE), upto=batch.upto)
        blank_records(self._lake, rows, batch.upto)

    def left_of(self, records: DataFrame) -> DataFrame:
        """Records of bronze that are not erased."""
        return records.join(self._lake.read(ERASED_RECORDS.name).select(*PLACE), list(PLACE), "left_anti")


def _named(parsed: DataFrame, spans: DataFrame, kind: str, record_class: str) -> DataFrame:
    """Records of a class whose `identity_hash` is erased."""
    theirs = spans.where(F.col("kind") == kind).select("identity_hash", "erased_at")
    of_class = parsed.where(F.col("record_class") == record_class)
    columns = (*PLACE, "row_hash", "kind", "committed_at", "erased_at")
    return of_class.join(F.broadcast(theirs), "identity_hash").select(*columns)


def _mark(parsed: DataFrame, erased: DataFrame) -> DataFrame:
    known = F.broadcast(erased.withColumn("_is_erased", F.lit(True)))
    record_class = F.when(F.col("_is_erased"), ERASED).otherwise(F.col("record_class"))
    marked = parsed.join(known, list(PLACE), "left")
    return marked.withColumn("record_class", record_class).drop("_is_erased")
