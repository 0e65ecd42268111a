"""Deletes what an erasure has erased from Kafka, where bronze has all records before it."""

import narwhals as nw

from bronze.topics.delete_records import delete_records
from bronze.topics.topic_history import Partition, bronze_partition
from lakehouse.contracts.ops import ERASED_RECORDS
from lakehouse.settings import Settings
from millrace.tables.table_scan import rows_of, scan
from millrace.tables.topic_state import read_topics


def erase_from_kafka(settings: Settings, request: str) -> dict[Partition, int]:
    """Delete records from Kafka through the last erased one of each partition.

    Topics that were deleted and created again since are left alone.

    Args:
        settings: the settings in force.
        request: number of the request.

    Returns:
        By topic and partition, the first offset that stays.

    Raises:
        MillraceError: if the broker refuses, or does not answer.
    """
    erased = scan(settings, ERASED_RECORDS.name)
    if erased is None:
        return {}
    is_of_shop = nw.col("topic") == settings.shop_changes_topic  # compacted: tombstones remove its records
    theirs = erased.filter((nw.col("request") == request) & ~is_of_shop)
    last = {
        (row["topic"], row["partition"]): row["offset"]
        for row in rows_of(theirs.group_by("topic", "partition").agg(nw.col("offset").max()))
    }
    topics = read_topics(settings)
    ends = {}
    for topic, state in topics.broker.items():
        number = topics.known[topic].number if topic in topics.known else 0
        for partition, (first, _) in state.spans.items():
            offset = last.get((topic, bronze_partition(number, partition)), -1)
            if offset >= first:
                ends[topic, partition] = offset + 1
    if ends:
        delete_records(settings, ends)
    return ends
