"""Traces rows of silver and gold to records of bronze and their coordinates in Kafka."""
