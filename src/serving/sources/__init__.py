"""Tables and standing queries as sources: rows at a position, and changes between positions."""
