"""Kafka as the ingest job reads it."""

from kafka import KafkaConsumer
from kafka.errors import KafkaError
from kafka.structs import TopicPartition
from pyspark.sql import DataFrame, SparkSession

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings


def subscribed_partitions(settings: Settings) -> dict[str, list[int]]:
    """The partitions of each subscribed topic that exists; empty if none does yet.

    Raises:
        MillraceError: if no broker answers.
    """
    return {
        topic: sorted(partition.partition for partition in ends)
        for topic, ends in _ends_by_topic(settings).items()
    }


def end_offsets(settings: Settings) -> dict[TopicPartition, int]:
    """The offset after the last record of each subscribed partition.

    Raises:
        MillraceError: if no broker answers.
    """
    return {
        partition: end for ends in _ends_by_topic(settings).values() for partition, end in ends.items()
    }


def read_records(spark: SparkSession, settings: Settings, starting_offsets: str) -> DataFrame:
    """The stream of records of the subscribed topics, headers included."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.bootstrap)
        .option("subscribe", settings.events_topic)
        .option("startingOffsets", starting_offsets)
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .option("maxOffsetsPerTrigger", settings.max_batch_rows)
        .load()
    )


def _ends_by_topic(settings: Settings) -> dict[str, dict[TopicPartition, int]]:
    try:
        consumer = KafkaConsumer(bootstrap_servers=settings.bootstrap, request_timeout_ms=15_000)
        try:
            topic = settings.events_topic
            numbers = consumer.partitions_for_topic(topic) or set()
            ends = consumer.end_offsets([TopicPartition(topic, number) for number in numbers])
            return {topic: ends} if ends else {}
        finally:
            consumer.close()
    except KafkaError as error:
        raise MillraceError(
            f"no Kafka broker answers at {settings.bootstrap} ({type(error).__name__})",
            "Start the local one with `millrace up --broker`, or set MILLRACE_KAFKA_BOOTSTRAP",
        ) from error
