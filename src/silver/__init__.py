"""Silver: events without copies, sessions, joins."""
