"""The local workspace: broker, Spark application, dashboard."""
