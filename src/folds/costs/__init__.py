"""Costs of campaigns: which load of a day counts, and whose cost it is."""
