"""Rows as Arrow tables on the driver or as Spark frames: grouping, SQL, times, worker processes."""
