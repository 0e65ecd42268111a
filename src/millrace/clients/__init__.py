"""Programs that send records to Kafka: sample traffic and files."""
