"""People by their first touch: whether they came back, and what they were worth."""
