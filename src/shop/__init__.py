"""The shop's own database: its changes, and dimensions with their history."""
