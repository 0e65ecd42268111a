"""Where in Kafka to go on, by what bronze holds."""

import json
from collections import defaultdict
from collections.abc import Sequence

from kafka.structs import TopicPartition
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

EARLIEST = -2  # Spark's word for it in an offsets document


def next_offsets(records: DataFrame, partitions: Sequence[TopicPartition]) -> str:
    """The first offset of each partition that bronze doesn't hold.

    Args:
        records: topic, partition, offset.
        partitions: those subscribed to, as the broker has them.

    Returns:
        Spark's `startingOffsets` document: `{"topic": {"partition": offset}}`.
    """
    held = records.groupBy("topic", "partition").agg((F.max("offset") + 1).alias("next")).collect()
    offsets: dict[str, dict[str, int]] = defaultdict(dict)
    for place in partitions:
        offsets[place.topic][str(place.partition)] = EARLIEST
    for row in held:
        if row.topic in offsets:
            offsets[row.topic][str(row.partition)] = row.next
    return json.dumps(offsets)
