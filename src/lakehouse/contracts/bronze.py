"""Bronze: Kafka records as received."""

from lakehouse.contracts.table import Column, Table

KAFKA_RECORDS = Table(
    name="bronze.kafka_records",
    grain="Kafka record",
    summary="a Kafka record as received, with its coordinates",
    writer="ingest",
    key=("topic", "partition", "offset"),
    columns=(
        Column("topic", "string", "Kafka topic"),
        Column("partition", "int", "Kafka partition"),
        Column("offset", "bigint", "offset in the partition"),
        Column("timestamp", "timestamp", "the Kafka record's own timestamp"),
        Column("key", "binary", "key, byte for byte"),
        Column("value", "binary", "value, byte for byte"),
        Column("headers", "array<struct<key: string, value: binary>>", "headers, in order"),
        Column("ingested_at", "timestamp", "one stamp a micro-batch, never going back", provenance=True),
    ),
    event_time="timestamp",
)

TABLES = (KAFKA_RECORDS,)
