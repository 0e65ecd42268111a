"""The rules of gold in plain Python: no Spark, no clock, no settings."""
