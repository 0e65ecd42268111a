"""Daily tables: SQL queries over the days that a batch affects."""
