"""The rules as pure functions: of records, of a visitor's events, of a person's goals and touches."""
