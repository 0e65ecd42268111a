"""Reads the bundle's jobs from its files."""
