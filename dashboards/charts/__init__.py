"""Charts as Vega-Lite: what varies is in their data."""
