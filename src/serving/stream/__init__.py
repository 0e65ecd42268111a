"""Follows each source once, for all its subscribers."""
