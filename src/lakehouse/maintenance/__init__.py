"""Compaction, expiry and VACUUM."""
