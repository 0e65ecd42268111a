"""Silver: events without duplicates, sessions, and joined streams."""
