"""Parses a Kafka record's bytes to an event, a rejection, a heartbeat, a promise or an exchange rate."""
