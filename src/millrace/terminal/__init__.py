"""Tables and reports on a terminal."""
