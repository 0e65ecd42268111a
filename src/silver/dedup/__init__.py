"""Deduplication: each record is an event, a duplicate, rejected or a heartbeat."""
