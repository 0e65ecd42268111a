"""Tables and standing queries as positions with rows, and changes between them."""
