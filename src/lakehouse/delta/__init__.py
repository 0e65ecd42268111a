"""Delta tables: read, written and declared through Spark or, in a folder, without it."""
