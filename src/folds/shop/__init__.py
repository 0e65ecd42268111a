"""Rows of the shop's database: their changes, and the history of a row."""
