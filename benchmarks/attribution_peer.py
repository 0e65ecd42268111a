"""The alternative in the attribution benchmark: a stream-stream join of touches and conversions."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

_TOUCH = "visitor_id string, touch_id string, touched_at timestamp, channel string"
_CONVERSION = "visitor_id string, conversion_id string, converted_at timestamp, value decimal(18,4)"


class StreamJoin:
    """A stream-stream join over 30 days with state in RocksDB. It finds touches, but computes no credit.

    Args:
        spark: a Spark session.
        folder: folder for input, output and checkpoint.
    """

    def __init__(self, spark: SparkSession, folder: str) -> None:
        # The state store needs this file system, but our Spark sessions configure another one.
        spark.conf.set("fs.file.impl", "org.apache.hadoop.fs.LocalFileSystem")
        spark.conf.set("fs.file.impl.disable.cache", "true")
        self._touches, self._conversions = f"{folder}/touches", f"{folder}/conversions"
        for place, columns in ((self._touches, _TOUCH), (self._conversions, _CONVERSION)):
            spark.createDataFrame([], columns).write.format("delta").save(place)
        touches, conversions = (
            spark.readStream.format("delta").load(place).withWatermark(time, "10 minutes").alias(name)
            for place, time, name in (
                (self._touches, "touched_at", "t"),
                (self._conversions, "converted_at", "c"),
            )
        )
        within = F.expr(
            "t.visitor_id = c.visitor_id AND t.touched_at <= c.converted_at "
            "AND t.touched_at >= c.converted_at - INTERVAL 30 DAYS"
        )
        joined = conversions.join(touches, within).select("c.*", "touch_id", "touched_at", "channel")
        writer = joined.writeStream.format("delta").option("checkpointLocation", f"{folder}/checkpoint")
        self._spark = spark
        self._query: StreamingQuery = writer.start(f"{folder}/output")

    def feed(self, events: DataFrame) -> float:
        """Process events. Returns the seconds of their micro-batches."""
        done = self._last_batch()
        first = events.where("type = 'page'").groupBy("visitor_id", F.window("event_time", "30 minutes"))
        touches = first.agg(
            F.min_by("event_id", "event_time").alias("touch_id"),
            F.min("event_time").alias("touched_at"),
            F.min_by("channel", "event_time").alias("channel"),
        )
        conversions = events.where("goal IS NOT NULL").select(
            "visitor_id",
            F.col("order_id").alias("conversion_id"),
            F.col("event_time").alias("converted_at"),
            "value",
        )
        touches.drop("window").write.format("delta").mode("append").save(self._touches)
        conversions.write.format("delta").mode("append").save(self._conversions)
        self._query.processAllAvailable()
        recent = [p for p in self._query.recentProgress if p["batchId"] > done and p["numInputRows"]]
        return float(sum(p["durationMs"]["triggerExecution"] for p in recent)) / 1000

    def stop(self) -> None:
        """Stop the query, without logging the interruption."""
        context = self._spark.sparkContext
        context.setLogLevel("OFF")
        self._query.stop()
        context.setLogLevel("ERROR")

    def _last_batch(self) -> int:
        recent = [p["batchId"] for p in self._query.recentProgress if p["numInputRows"]]
        return max(recent, default=-1)
