"""Visitor rules: events to sessions, exposures, touches, goals and minutes; times in microseconds."""
