"""Change data capture: from PostgreSQL's write-ahead log to Kafka."""
