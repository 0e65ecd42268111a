"""Gold: conversions, attribution, windowed metrics."""
