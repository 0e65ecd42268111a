"""Audits: whether everything is there, once, and as it was written."""
