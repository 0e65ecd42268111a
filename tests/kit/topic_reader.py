"""Reads the committed changes of a topic as they come, across restarts of the broker."""

import json
from contextlib import suppress
from typing import Any

from kafka import KafkaConsumer
from kafka.errors import KafkaError
from kafka.structs import TopicPartition


class TopicReader:
    """All changes of a topic so far.

    Args:
        bootstrap: Kafka.
        topic: the topic.

    Attributes:
        changes: in the order in which they were read.
    """

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap, self._topic = bootstrap, topic
        self._positions: dict[TopicPartition, int] = {}
        self.changes: list[dict[str, Any]] = []

    def read(self) -> list[dict[str, Any]]:
        """Read what has come; all changes so far. A broker that is down has sent nothing."""
        with suppress(KafkaError):
            self._read()
        return self.changes

    def has_row(self, key: str) -> bool:
        """Whether a change of a row with this key has come."""
        known = len(self.changes)
        return any(key in (each["key"] or {}).values() for each in self.read()[known:])

    def _read(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap, isolation_level="read_committed", bootstrap_timeout_ms=5000
        )
        try:
            places = [
                TopicPartition(self._topic, each) for each in consumer.partitions_for_topic(self._topic) or ()
            ]
            consumer.assign(places)
            for place in places:
                consumer.seek(place, self._positions.get(place, 0))
            ends = consumer.end_offsets(places) if places else {}
            while any(consumer.position(place) < end for place, end in ends.items()):
                for place, records in consumer.poll(timeout_ms=1000).items():
                    self.changes += [json.loads(each.value) for each in records if each.value is not None]
                    self._positions[place] = records[-1].offset + 1
        finally:
            consumer.close()
