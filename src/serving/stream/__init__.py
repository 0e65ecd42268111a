"""Changes of tables and standing queries, shared by all who subscribe to them."""
