"""Credit: which events a batch adds, what they change in touches and conversions, and who earned these."""
