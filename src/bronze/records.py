"""Columns of bronze: a Kafka record with its ingest stamp."""

from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakehouse.contracts.bronze import KAFKA_RECORDS


def with_ingest_time(records: DataFrame, ingested_at: datetime, shifts: Mapping[str, int]) -> DataFrame:
    """Add the ingest stamp of the micro-batch to each record.

    Args:
        records: rows of Spark's Kafka source, headers included.
        ingested_at: later than the stamp of every earlier micro-batch.
        shifts: by topic that was created again, the number to add to its partitions.

    Returns:
        The columns of bronze.kafka_records, values and keys byte for byte.
    """
    for topic, shift in shifts.items():
        of_topic = F.col("topic") == topic
        moved = F.when(of_topic, F.col("partition") + shift).otherwise(F.col("partition"))
        records = records.withColumn("partition", moved)
    return records.withColumn("ingested_at", F.lit(ingested_at)).select(*KAFKA_RECORDS.column_names)
