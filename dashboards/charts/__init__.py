"""Vega-Lite charts. Everything that varies is in their data, so that a refresh redraws only the marks."""
