"""Pull: reads events from streams that the collector connects to, and resumes them by event id."""
