"""Signed certificates of searches."""
