"""Serves changes of tables as they are committed: change feeds as JSON lines, standing queries."""
