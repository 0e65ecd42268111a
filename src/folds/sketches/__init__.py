"""Sketches: distinct visitors and quantiles of order values that merge over any period and dimension."""
