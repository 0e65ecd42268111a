"""Erases customers of the shop's database: which rows are theirs, and the records and versions of these."""

from datetime import datetime
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.shop import REJECTED_CHANGES, SHOP_CHANGES
from lakehouse.contracts.silver import LOCK
from lakehouse.delta.write_changes import checkpoint_changes, write_kind
from lakehouse.erasure.blank_records import PLACE
from lakehouse.erasure.delete_records import delete_records
from lakehouse.erasure.keyed_hash import ROW, KeyedHash
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.concurrent import run_concurrently
from lakehouse.run.job import JobContext
from lakehouse.run.rebuild import processed_through
from lakehouse.run.rules_version import rules_version
from shop.change_parser import CHANGE, TOMBSTONE
from shop.customers import customers_of
from shop.dimension_changes import TABLES, DimensionRules, dimension_changes
from shop.shop_file import load_shop_rules

_ROW = ("source", "source_table", "row_key", "row_hash")


def rows_of_customers(run: JobContext, users: DataFrame) -> DataFrame:
    """The rows that have ever been of some customers: source, source_table, row_key and row_hash, each once.

    Args:
        run: the job's context.
        users: user_id of the customers.
    """
    history = run.lake.read(SHOP_CHANGES.name).where("row_key IS NOT NULL")
    customers = customers_of(load_shop_rules(run.settings.conf))
    named = history.select(*_ROW, F.explode(customers).alias("user_id"))
    return semi_join(named, users, "user_id").select(*_ROW).distinct()


def records_of_rows(run: JobContext, rows: DataFrame) -> DataFrame:
    """Records of some rows: `PLACE`, ingested_at, record_class, and the record's key; each once.

    Those of an interrupted micro-batch of dimensions are among them, if silver.shop_changes has it.

    Args:
        run: the job's context.
        rows: output of `rows_of_customers`. Checkpointed.
    """
    upto = F.lit(processed_through(run, "dimensions", SHOP_CHANGES.name))
    changes = semi_join(run.lake.read(SHOP_CHANGES.name), rows, *_ROW[:3])
    is_of_shop = F.col("topic") == run.settings.shop_changes_topic
    records = run.lake.read(KAFKA_RECORDS.name).where(is_of_shop & (F.col("ingested_at") <= upto))
    theirs = records.join(changes.select(*PLACE), list(PLACE), "left_semi").where("value IS NOT NULL")
    keys = theirs.select("key").where("key IS NOT NULL").distinct()
    tombstones = semi_join(records.where("value IS NULL"), keys, "key")
    columns = (*PLACE, "ingested_at", "key")
    return (
        theirs.select(*columns, F.lit(CHANGE).alias("record_class"))
        .unionByName(tombstones.select(*columns, F.lit(TOMBSTONE).alias("record_class")))
        .dropDuplicates(list(PLACE))
    )


def hashes_of_rows(hashes: KeyedHash, rows: DataFrame, records: DataFrame) -> DataFrame:
    """`identity_hash` of rows: by source, table and primary key, and by the key of their records."""
    of_records = records.where("key IS NOT NULL").select(
        hashes.column(ROW, F.col("key")).alias("identity_hash")
    )
    return rows.select(hash_of_row(hashes).alias("identity_hash")).union(of_records).distinct()


def hash_of_row(hashes: KeyedHash) -> Column:
    """The keyed hash of source, source_table and row_key; null of a truncate."""
    return hashes.column(ROW, F.concat("source", F.lit("\0"), "source_table", F.lit("\0"), "row_key"))


def remove_from_shop(run: JobContext, records: DataFrame, rows: DataFrame, upto: datetime) -> None:
    """Delete the changes of some rows, rejected changes, and all versions of the rows. Idempotent.

    Args:
        run: the job's context; the caller holds the lock of silver.
        records: `PLACE` of the erased records, each once.
        rows: output of `rows_of_customers`.
        upto: an ingest stamp for the commits' metadata.
    """
    lake, conf = run.lake, run.settings.conf
    with lake.exclusive(LOCK):
        of_records = (SHOP_CHANGES, REJECTED_CHANGES)
        run_concurrently([partial(delete_records, lake, each, records, upto) for each in of_records])
        rules = DimensionRules.of(load_shop_rules(conf), rules_version(conf))
        known = {table.name: lake.read(table.name) for table in TABLES}
        folded = dimension_changes(lake.read(SHOP_CHANGES.name), known, rules, rows.select("row_hash"))
        changes, extents, _ = checkpoint_changes(folded, TABLES)
        run_concurrently([partial(write_kind, lake, each, changes, extents, upto) for each in TABLES])
