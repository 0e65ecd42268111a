"""Entry points of the wheel: names of silver's jobs, and their functions."""

from lakehouse.entry_point import Job

refine = Job.imported(
    "refine",
    "silver.refine_job:refine",
    "Parse records to events, remove duplicates, and build sessions, impressions and searches.",
)

repair = Job.imported(
    "repair",
    "silver.repair_job:repair",
    "Add late events to the rows they belong to; resolve identities; find bots.",
)

silver = Job.imported(
    "silver",
    "silver.silver_job:refine_and_repair",
    "Run refine and repair in one application.",
)
