"""Entry points of the wheel: what each job of bronze is called, and where its body is."""

from lakehouse.entry_point import Job

ingest = Job.imported(
    "ingest",
    "bronze.job:ingest",
    "Take the records of the subscribed topics into bronze, exactly once.",
)
