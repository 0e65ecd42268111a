"""Sketches of distinct visitors and of order value quantiles; they merge over any period and dimension."""
