"""Reading tables: one way of asking, several places where tables are."""
