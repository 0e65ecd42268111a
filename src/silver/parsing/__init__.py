"""Parsing: Kafka records to events, in Python workers."""
