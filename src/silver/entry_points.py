"""Entry points of the wheel: what each job of silver is called, and where its body is."""

from lakehouse.entry_point import Job

refine = Job.imported(
    "refine",
    "silver.refine_job:refine",
    "Turn bronze records into events without copies and rejects with reasons, and what events form.",
)

repair = Job.imported(
    "repair",
    "silver.repair_job:repair",
    "Bring late events into the rows they belong to; say who visitors are, and which are bots.",
)
