"""Table access: one query type, several backends."""
