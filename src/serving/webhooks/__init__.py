"""Webhooks: sends changes of tables and queries as POST requests to registered URLs."""
