"""Keys of a micro-batch are broadcast, and those of large summaries shuffled."""

from pyspark.sql import SparkSession

from lakehouse.rows.checkpointing import checkpoint
from lakehouse.rows.semi_join import semi_join
from lakehouse.run.batch_settings import MOST_BROADCAST_KEYS, BatchSettings


def test_history_is_shuffled_only_where_there_are_many_keys(spark: SparkSession) -> None:
    session = spark.newSession()
    settings, found = BatchSettings(session), list[bool]()
    for keys in (0, MOST_BROADCAST_KEYS + 1, 0):
        settings.choose(1, keys=keys)
        history, wanted = session.range(9).toDF("id"), checkpoint(session.range(3).toDF("id"))
        rows = semi_join(history, wanted, "id")
        found.append("BroadcastExchange" in rows._jdf.queryExecution().executedPlan().toString())
        assert rows.count() == 3
    assert found == [True, False, True]
