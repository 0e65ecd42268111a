"""Kafka topics for tests: created, written with given timestamps, and read back from bronze."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from kit.home import Home
from kit.oracle_wire import micros
from kit.records import Record

_CONFIG = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**62)}


class Topic:
    """A topic for writing."""

    def __init__(self, name: str, producer: KafkaProducer) -> None:
        self._name = name
        self._producer = producer

    def send(self, records: Iterable[Record]) -> None:
        """Write records in order within each partition, and wait for the acknowledgements."""
        for each in records:
            at = micros(each.timestamp) // 1000
            self._producer.send(self._name, each.value, partition=each.partition, timestamp_ms=at)
        self._producer.flush()


@contextmanager
def open_topic(home: Home, partitions: int = 3) -> Iterator[Topic]:
    """Create the events topic of a home."""
    admin = KafkaAdminClient(bootstrap_servers=home.bootstrap)
    admin.create_topics([NewTopic(home.topic, partitions, 1, topic_configs=_CONFIG)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=home.bootstrap, enable_idempotence=True, acks="all")
    try:
        yield Topic(home.topic, producer)
    finally:
        producer.close()
