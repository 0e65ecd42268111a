"""Starting offsets, in the format of Spark's Kafka source."""

import json
from collections.abc import Mapping


def starting_offsets(upcoming: Mapping[str, Mapping[int, int]]) -> str:
    """Spark's `startingOffsets` document: `{"topic": {"partition": offset}}`.

    Args:
        upcoming: by topic and partition, the offset to be read next.
    """
    return json.dumps(
        {
            topic: {str(partition): at for partition, at in partitions.items()}
            for topic, partitions in upcoming.items()
        }
    )
