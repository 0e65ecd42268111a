"""Sample traffic: the visitors of a small web shop that does not exist."""
