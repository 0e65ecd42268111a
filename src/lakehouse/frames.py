"""Frames as values."""

from pyspark.sql import DataFrame


def settle(frame: DataFrame) -> DataFrame:
    """Compute a frame now and forget how it came about.

    What is built on it is planned from here: without this, planning takes longer than the work, since a
    plan is walked by every rule of the optimizer and a cached frame is still walked to its sources.
    """
    return frame.localCheckpoint(eager=True)
