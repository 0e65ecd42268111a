"""Reads tables without a JVM."""
