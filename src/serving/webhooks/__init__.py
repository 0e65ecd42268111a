"""Webhooks: changes of tables and queries as POST requests to URLs that others registered."""
