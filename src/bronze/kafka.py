"""Kafka as the ingest job reads it."""

from kafka import KafkaConsumer
from kafka.errors import KafkaError
from kafka.structs import TopicPartition
from pyspark.sql import DataFrame, SparkSession

from lakehouse.errors import MillraceError
from lakehouse.settings import Settings


Spans = dict[TopicPartition, tuple[int, int]]


def offset_spans(settings: Settings) -> Spans:
    """By subscribed partition: its first offset, and the one after its last; empty if there is no topic.

    Raises:
        MillraceError: if no broker answers.
    """
    try:
        consumer = KafkaConsumer(bootstrap_servers=settings.bootstrap, request_timeout_ms=15_000)
        try:
            topic = settings.events_topic
            places = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
            first, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
            return {place: (first[place], ends[place]) for place in places}
        finally:
            consumer.close()
    except KafkaError as error:
        raise MillraceError(
            f"no Kafka broker answers at {settings.bootstrap} ({type(error).__name__})",
            "Start the local one with `millrace up --broker`, or set MILLRACE_KAFKA_BOOTSTRAP",
        ) from error


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
