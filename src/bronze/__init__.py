"""Bronze: Kafka records as received, exactly once."""
