"""Windowed metrics: sums of visitors' minutes, and revisions of what is published."""
