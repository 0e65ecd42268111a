"""Command requests to a running engine."""
