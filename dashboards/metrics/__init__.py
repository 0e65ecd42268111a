"""Figures of the pages, computed from the tables; one module per topic."""
