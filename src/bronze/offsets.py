"""Where in Kafka to go on, by what bronze holds."""

import json
from collections import defaultdict

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

EARLIEST = -2  # Spark's word for it in an offsets document


def next_offsets(records: DataFrame, partitions: dict[str, list[int]]) -> str:
    """The first offset of each partition that bronze doesn't hold.

    Args:
        records: topic, partition, offset.
        partitions: the partitions of each subscribed topic, as the broker has them.

    Returns:
        Spark's `startingOffsets` document: `{"topic": {"partition": offset}}`.
    """
    held = records.groupBy("topic", "partition").agg((F.max("offset") + 1).alias("next")).collect()
    offsets: dict[str, dict[str, int]] = defaultdict(dict)
    for topic, numbers in partitions.items():
        offsets[topic] = {str(number): EARLIEST for number in numbers}
    for row in held:
        if row.topic in offsets:
            offsets[row.topic][str(row.partition)] = row.next
    return json.dumps(offsets)
