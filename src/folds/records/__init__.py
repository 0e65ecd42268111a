"""Parses a Kafka record's bytes to an event, a rejection, a heartbeat or an exchange rate."""
