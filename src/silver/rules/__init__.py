"""The rules of silver in plain Python: no Spark, no clock, no settings."""
