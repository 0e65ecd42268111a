"""Finds identifiers in bytes, in all encodings."""
