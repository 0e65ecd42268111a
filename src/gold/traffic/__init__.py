"""Windowed metrics: sums over gold.visitor_minutes, and revisions of published windows."""
