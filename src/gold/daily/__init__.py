"""Tables by day: queries in SQL over the days that a batch affects."""
