"""Bronze: Kafka records as they came, exactly once."""
