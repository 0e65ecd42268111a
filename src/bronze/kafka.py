"""Kafka, as the ingest job reads it."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError
from kafka.structs import TopicPartition
from pyspark.sql import DataFrame, SparkSession

from bronze.kafka_auth import client_options, source_options
from bronze.topics.topic_history import BrokerTopic, known_id
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from lakehouse.timestamps import rfc3339

HEARTBEAT = "heartbeat"
"""Name of the header that makes a record a heartbeat, and holds its time."""

_TIMEOUT_MS = 3000
"""Timeout of a heartbeat, which delays a job that is asked to stop."""

Spans = dict[TopicPartition, tuple[int, int]]


def offset_spans(settings: Settings) -> Spans:
    """By subscribed partition, its first offset and the one after its last; missing topics are left out.

    The end is the last stable offset: that of the first record of an open transaction, if there is one.

    Raises:
        MillraceError: if no broker answers.
    """
    with _consumer(settings) as consumer:
        there = consumer.topics()
        places = [
            TopicPartition(topic, number)
            for topic in settings.topics
            if topic in there
            for number in consumer.partitions_for_topic(topic) or ()
        ]
        first, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
        return {place: (first[place], ends[place]) for place in places}


def count_records(settings: Settings, place: TopicPartition, first: int, end: int) -> int:
    """Number of committed records of a partition between two offsets, the second excluded.

    Raises:
        MillraceError: if no broker answers.
    """
    found = 0
    with _consumer(settings) as consumer:
        consumer.assign([place])
        consumer.seek(place, first)
        position = first
        while position < end:
            records = consumer.poll(timeout_ms=10_000).get(place, [])
            found += sum(record.offset < end for record in records)
            before, position = position, consumer.position(place)
            if position == before:  # nothing for ten seconds
                break
    return found


def records_at(settings: Settings, place: TopicPartition, offsets: Collection[int]) -> dict[int, Any]:
    """Committed records of a partition by offset; those that Kafka no longer has are left out.

    Raises:
        MillraceError: if no broker answers, or the topic lacks the partition.
    """
    wanted = sorted(offsets)
    found: dict[int, Any] = {}
    with _consumer(settings) as consumer:
        if place.partition not in (consumer.partitions_for_topic(place.topic) or ()):
            raise MillraceError(f"Kafka has no {place.topic}/{place.partition}", "See `millrace audit`")
        consumer.assign([place])
        first, end = consumer.beginning_offsets([place])[place], consumer.end_offsets([place])[place]
        position = first
        for offset in wanted:
            if not first <= offset < end or offset < position:
                continue
            consumer.seek(place, offset)
            while position <= offset and (records := consumer.poll(timeout_ms=10_000).get(place, [])):
                found |= {record.offset: record for record in records if record.offset in wanted}
                position = records[-1].offset + 1
    return found


def stored_records(
    settings: Settings, topic: str, isolation: str = "read_uncommitted"
) -> Iterator[ConsumerRecord]:
    """All records that a topic has now.

    Args:
        settings: the settings in force.
        topic: the topic.
        isolation: read_uncommitted, with those of aborted transactions; or read_committed.

    Raises:
        MillraceError: if no broker answers, or there is no such topic.
    """
    with _consumer(settings, isolation) as consumer:
        places = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        if not places:
            raise MillraceError(f"there is no topic {topic} at {settings.bootstrap}", "Correct its name")
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        ends = consumer.end_offsets(places)
        while any(consumer.position(place) < ends[place] for place in places):
            polled = consumer.poll(timeout_ms=10_000)
            if not polled:
                raise MillraceError(f"topic {topic} was not read to its end", "Is the broker well? Try again")
            for records in polled.values():
                yield from records


@contextmanager
def _consumer(settings: Settings, isolation: str = "read_committed") -> Iterator[KafkaConsumer]:
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=settings.bootstrap,
            request_timeout_ms=15_000,
            isolation_level=isolation,
            **client_options(settings),
        )
        try:
            yield consumer
        finally:
            consumer.close()
    except KafkaError as error:
        raise _no_answer(settings, error) from error


def broker_topics(settings: Settings) -> dict[str, BrokerTopic]:
    """The subscribed topics that exist: ids, and the offsets of each partition.

    Raises:
        MillraceError: if no broker answers.
    """
    with TopicIds(settings) as topics:
        ids = topics.read()
    spans: dict[str, dict[int, tuple[int, int]]] = {}
    for place, span in offset_spans(settings).items():
        spans.setdefault(place.topic, {})[place.partition] = span
    return {topic: BrokerTopic(ids.get(topic, ("", 0))[0], of_topic) for topic, of_topic in spans.items()}


class TopicIds:
    """Reads the ids of the subscribed topics over one connection; a context manager."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._admin: KafkaAdminClient | None = None

    def __enter__(self) -> "TopicIds":
        return self

    def __exit__(self, *_: object) -> None:
        if self._admin is not None:
            self._admin.close()

    def read(self) -> dict[str, tuple[str, int]]:
        """By existing topic: its id, empty if the broker has none, and its number of partitions.

        Raises:
            MillraceError: if no broker answers.
        """
        try:
            if self._admin is None:
                self._admin = KafkaAdminClient(
                    bootstrap_servers=self._settings.bootstrap,
                    request_timeout_ms=15_000,
                    **client_options(self._settings),
                )
            described = self._admin.describe_topics(list(self._settings.topics))
        except KafkaError as error:
            raise _no_answer(self._settings, error) from error
        return {
            each["name"]: (known_id(each.get("topic_id")), len(each["partitions"]))
            for each in described
            if each["partitions"]
        }


def _no_answer(settings: Settings, error: KafkaError) -> MillraceError:
    return MillraceError(
        f"no Kafka broker answers at {settings.bootstrap} ({type(error).__name__})",
        "Start the local one with `millrace up --broker`, or set MILLRACE_KAFKA_BOOTSTRAP",
    )


def send_heartbeat(settings: Settings, at: datetime) -> None:
    """Write a heartbeat: a record without a value, with its time in a header. Idempotent.

    Raises:
        KafkaError: if no broker takes it.
    """
    said = rfc3339(at, "microseconds")
    producer = KafkaProducer(
        bootstrap_servers=settings.bootstrap,
        enable_idempotence=False,
        acks="all",
        bootstrap_timeout_ms=_TIMEOUT_MS,
        max_block_ms=_TIMEOUT_MS,
        request_timeout_ms=_TIMEOUT_MS // 2,
        delivery_timeout_ms=_TIMEOUT_MS,
        **client_options(settings),
    )
    try:
        headers, key = [(HEARTBEAT, said.encode())], HEARTBEAT.encode()  # the client wants a key or a value
        sent = producer.send(settings.events_topic, key=key, headers=headers, partition=0)
        sent.get(_TIMEOUT_MS / 1000)
    finally:
        producer.close(timeout=0)


def read_records(
    spark: SparkSession, settings: Settings, starting_offsets: str, batch_rows: int
) -> DataFrame:
    """The stream of committed records of the subscribed topics, headers included.

    Topics are subscribed by pattern, so that they may be created later: a topic in a list has to exist.

    Args:
        spark: the job's session.
        settings: the settings in force.
        starting_offsets: where a query without a checkpoint starts.
        batch_rows: maximum number of records per micro-batch, approximately.
    """
    pattern = "|".join(re.escape(topic) for topic in settings.topics)
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.bootstrap)
        .option("subscribePattern", f"^(?:{pattern})$")
        .option("kafka.isolation.level", "read_committed")
        .option("startingOffsets", starting_offsets)
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .option("maxOffsetsPerTrigger", batch_rows)
        .options(**source_options(settings))
        .load()
    )
