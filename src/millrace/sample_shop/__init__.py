"""Sample traffic: simulates the visitors of a small fictional web shop."""
