"""Explains conversions, credits and channels in the tables."""
