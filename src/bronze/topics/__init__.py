"""Topics: whether each can be read without a loss, and their history."""
