"""One visitor's story: events to sessions, exposures, touches, goals, minutes; times in microseconds."""
