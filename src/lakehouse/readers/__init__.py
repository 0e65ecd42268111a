"""Reads tables without a Spark session: those of a folder, or those of a catalog through a SQL warehouse."""
