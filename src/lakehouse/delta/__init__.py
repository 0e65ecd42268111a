"""Delta tables: declared, read and written through Spark; change feeds and single rows without it."""
