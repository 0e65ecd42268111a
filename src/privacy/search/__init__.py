"""Search for identifiers in all files of a home, and in topics."""
