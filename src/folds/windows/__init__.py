"""Rules about windows: what visitors did, minute by minute, to sums over all visitors."""
