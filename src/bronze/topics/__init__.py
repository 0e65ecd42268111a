"""Topics: whether each can be read on, and what has become of it."""
