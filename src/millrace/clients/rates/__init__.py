"""Files of exchange rates."""
