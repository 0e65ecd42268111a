"""Checkpoints are released at the end of a micro-batch, in a Spark application."""

import gc
import weakref

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.rows.checkpointing import checkpoint, checkpoint_with, released_at_end


def blocks(spark: SparkSession) -> set[int]:
    """Ids of the RDDs that the application keeps."""
    return set(spark.sparkContext._jsc.getPersistentRDDs())


def rows(spark: SparkSession) -> DataFrame:
    return spark.range(3)


def test_checkpoints_of_block_are_released_at_its_end(spark: SparkSession) -> None:
    session = spark.newSession()
    before = blocks(session)
    with released_at_end(session):
        one = checkpoint(rows(session))
        two, _ = checkpoint_with(one.where("id > 0"), count=F.count("id"))
        assert len(blocks(session) - before) == 2
        assert two.count() == 2
    assert blocks(session) <= before


def test_collection_may_release_checkpoint_before_the_end(spark: SparkSession) -> None:
    session = spark.newSession()
    with released_at_end(session):
        frame = weakref.ref(checkpoint(rows(session)))
        gc.collect()
        assert frame() is None


def test_checkpoints_are_released_after_error(spark: SparkSession) -> None:
    session = spark.newSession()
    before = blocks(session)
    try:
        with released_at_end(session):
            checkpoint(rows(session))
            raise KeyError
    except KeyError:
        pass
    assert blocks(session) <= before


def test_checkpoints_of_outer_block_and_of_other_sessions_remain(spark: SparkSession) -> None:
    session, other = spark.newSession(), spark.newSession()
    with released_at_end(session):
        outer = checkpoint(rows(session))
        with released_at_end(session):
            elsewhere = checkpoint(rows(other))
            checkpoint(rows(session))
        assert outer.count() == elsewhere.count() == 3


def test_checkpoint_outside_of_block_remains(spark: SparkSession) -> None:
    session = spark.newSession()
    with released_at_end(session):
        pass
    assert checkpoint(rows(session)).count() == 3
