"""The engine: the bundle's jobs in one Spark application."""
