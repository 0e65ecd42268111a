"""The engine: runs the bundle's jobs in one Spark application."""
