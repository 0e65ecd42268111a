"""Deduplication: classifies each record as an event, duplicate, rejection, heartbeat or rate."""
