"""Business rules as pure functions of records, of visitors' events, and of persons' goals and touches."""
