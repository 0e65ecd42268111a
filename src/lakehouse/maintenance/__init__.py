"""Compaction, clustering and VACUUM."""
