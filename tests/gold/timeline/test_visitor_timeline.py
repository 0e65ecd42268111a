"""gold.visitor_timeline equals a join of its inputs after every batch, whatever arrives in what order.

TIMELINE_EVENTS and TIMELINE_CHANGES set the size.
"""

import os
from datetime import timedelta
from pathlib import Path
from random import Random
from zlib import crc32

import duckdb
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from folds.shop.row_history import DELETE, INSERT, UPDATE, Change
from gold.timeline.visitor_timeline import VisitorTimeline
from kit.oracle_wire import micros
from kit.pipeline import run_jobs
from kit.planted_orders import sent
from kit.records import NOON, Bronze, Record
from kit.spark import empty_home
from lakehouse.contracts import TABLES
from lakehouse.contracts.silver import EVENTS, IDENTITIES
from lakehouse.contracts.timeline import BUCKETS, VISITOR_TIMELINE
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.settings import Settings

COUNT = int(os.environ.get("TIMELINE_EVENTS", "20000"))
CHANGES = int(os.environ.get("TIMELINE_CHANGES", "400"))
BATCHES = 8
VISITORS, CUSTOMERS = max(1, COUNT // 20), max(1, CHANGES // 8)
INPUTS = ("silver.events", "silver.identities", "silver.customers", "silver.orders")

JOINED = """
WITH known AS (SELECT DISTINCT visitor_id, user_id AS customer_id FROM identities)
SELECT visitor_id, event_id AS entry_id, event_time AS "at", 'event' AS kind, role,
       coalesce(name, type) AS name, url, user_id, order_id, value, currency, NULL AS valid_to
FROM events
UNION ALL
SELECT visitor_id, version_id, coalesce(valid_from, changed_at), 'customer', NULL,
       plan, NULL, customer_id, NULL, NULL, NULL, valid_to
FROM customers JOIN known USING (customer_id)
UNION ALL
SELECT visitor_id, version_id, coalesce(valid_from, changed_at), 'order', NULL,
       status, NULL, customer_id, order_id, value, currency, valid_to
FROM orders JOIN known USING (customer_id)
"""


def complete(rows: DataFrame, table: str) -> DataFrame:
    """Rows with all columns of a table; those that are missing are null."""
    there = set(rows.columns)
    return rows.select(
        *(
            (F.col(each.name) if each.name in there else F.lit(None)).cast(each.type).alias(each.name)
            for each in TABLES[table].columns
        )
    )


def events(spark: SparkSession) -> DataFrame:
    """Events of visitors at random times, each with the number of its batch."""
    at = F.lit(NOON) + F.make_dt_interval(secs=F.rand(2) * 8_640_000)
    return spark.range(COUNT, numPartitions=2).select(
        F.concat(F.lit("e"), "id").alias("event_id"),
        F.concat(F.lit("v"), (F.rand(1) * VISITORS).cast("int")).alias("visitor_id"),
        at.alias("event_time"),
        F.lit("track").alias("type"),
        F.when(F.rand(3) < 0.8, "Product Viewed").alias("name"),
        F.when(F.rand(4) < 0.5, F.concat(F.lit("https://shop.example/"), "id")).alias("url"),
        F.when(F.rand(5) < 0.1, F.concat(F.lit("o"), "id")).alias("order_id"),
        F.when(F.rand(6) < 0.1, F.rand(7) * 100).alias("value"),
        (F.rand(8) * BATCHES).cast("int").alias("batch"),
    )


def identities(spark: SparkSession) -> DataFrame:
    """Logins: a visitor has none, one or several users, some of which the shop does not know."""
    return spark.range(VISITORS, numPartitions=1).select(
        F.concat(F.lit("v"), (F.rand(11) * VISITORS).cast("int")).alias("visitor_id"),
        F.concat(F.lit("u"), (F.rand(12) * CUSTOMERS * 1.2).cast("int")).alias("user_id"),
        F.concat(F.lit("i"), "id").alias("event_id"),
        (F.rand(13) * BATCHES).cast("int").alias("batch"),
    )


def shop_changes(random: Random) -> list[Record]:
    """Inserts, updates and deletes of customers and orders, in random order of arrival."""
    rows: dict[str, dict[str, dict[str, str | None]]] = {"public.customers": {}, "public.orders": {}}
    found, at = [], micros(NOON)
    for number in range(CHANGES):
        table = random.choice(sorted(rows))
        key = (
            f"u{random.randrange(CUSTOMERS)}"
            if table == "public.customers"
            else f"s{random.randrange(CUSTOMERS)}"
        )
        there, at = rows[table], at + random.randrange(3) * 1_000_000
        lsn = 100 + 10 * number
        if key in there and random.random() < 0.2:
            del there[key]
            found.append(sent(key, Change(lsn, 1, DELETE, at), table))
            continue
        row: dict[str, str | None] = {"id": key, "plan": random.choice(["free", "pro"]), "country": "DE"}
        if table == "public.orders":
            user = f"u{random.randrange(CUSTOMERS)}"
            status = random.choice(["new", "paid"])
            row = {"id": key, "customer_id": user, "status": status, "value": str(number), "currency": "EUR"}
        found.append(sent(key, Change(lsn, 1, UPDATE if key in there else INSERT, at, row), table))
        there[key] = row
    random.shuffle(found)
    return found


def differences(settings: Settings) -> tuple[int, int, int, int]:
    """Rows of the table, of a join in DuckDB, in the table alone, and in the join alone."""
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        for name in (*INPUTS, VISITOR_TIMELINE.name):
            folder = Path(settings.warehouse, *name.split("."))
            database.register(name.split(".")[1], DeltaTable(folder).to_pyarrow_dataset())
        columns = [f'"{name}"' for name in VISITOR_TIMELINE.column_names if name != "bucket"]
        found = f"SELECT {', '.join(columns)} FROM visitor_timeline"
        wanted = f"SELECT {', '.join(columns)} FROM ({JOINED})"
        queries = (found, wanted, f"{found} EXCEPT ALL {wanted}", f"{wanted} EXCEPT ALL {found}")
        counts = [database.sql(f"SELECT count(*) FROM ({query})").fetchall()[0][0] for query in queries]
        buckets = database.sql("SELECT DISTINCT visitor_id, bucket FROM visitor_timeline").fetchall()
    assert all(bucket == crc32(visitor.encode()) % BUCKETS for visitor, bucket in buckets)
    return counts[0], counts[1], counts[2], counts[3]


@pytest.mark.long
def test_timeline_equals_the_join_of_its_inputs_after_every_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze, lake = Bronze(spark, settings), Lakehouse(spark.newSession(), settings, "publish")
    changes = shop_changes(Random(5))
    of_batch = -(-len(changes) // BATCHES)
    everything = {EVENTS.name: events(spark).cache(), IDENTITIES.name: identities(spark).cache()}
    timeline = None
    for number in range(BATCHES):
        bronze.commit(changes[number * of_batch : (number + 1) * of_batch])
        run_jobs(spark, settings, "dimensions")
        stamp = NOON + timedelta(days=1, seconds=number)
        for name, rows in everything.items():
            new = rows.where(F.col("batch") == number).withColumn("ingested_at", F.lit(stamp))
            lake.append(name, complete(new, name), stamp)
        if timeline is None or number % 3 == 0:  # as after a restart
            timeline = VisitorTimeline(lake)
        if number % 3 == 1:  # an erasure, which has one of its own
            VisitorTimeline(lake).update(stamp, stamp)
        else:
            timeline.update(stamp, stamp)
        found, wanted, wrong, missing = differences(settings)
        assert (found, wrong, missing) == (wanted, 0, 0), f"batch {number}"
        assert found > (number + 1) * COUNT // BATCHES // 2


@pytest.mark.long
@pytest.mark.parametrize("publisher", ["publish", "a job without a commit in the log"])
def test_events_that_a_rebuild_had_first_are_not_added_again(
    spark: SparkSession, tmp_path: Path, publisher: str
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze, lake = Bronze(spark, settings), Lakehouse(spark.newSession(), settings, "publish")
    bronze.commit(shop_changes(Random(5)))
    run_jobs(spark, settings, "dimensions")
    inputs = {EVENTS.name: events(spark).cache(), IDENTITIES.name: identities(spark).cache()}
    stamps = [NOON + timedelta(days=1, seconds=number) for number in range(2)]
    for number, stamp in enumerate(stamps):
        for name, rows in inputs.items():
            new = rows.where(F.col("batch") == number).withColumn("ingested_at", F.lit(stamp))
            lake.append(name, complete(new, name), stamp)
        if number == 0:
            VisitorTimeline(lake).update(stamp, stamp)
    rebuild = Lakehouse(spark.newSession(), settings, "rebuild")
    rebuild.overwrite(VISITOR_TIMELINE.name, checkpoint(VisitorTimeline(lake).all_rows()))
    VisitorTimeline(Lakehouse(spark.newSession(), settings, publisher)).update(stamps[1], stamps[1])
    found, wanted, wrong, missing = differences(settings)
    assert (found, wrong, missing) == (wanted, 0, 0)
