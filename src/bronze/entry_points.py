"""Entry points of the wheel: names of bronze's jobs, and their functions."""

from lakehouse.entry_point import Job

ingest = Job.imported(
    "ingest",
    "bronze.job:ingest",
    "Write records of the subscribed topics to bronze, exactly once.",
)
