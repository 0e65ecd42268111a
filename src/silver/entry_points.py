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

silver = Job.imported(
    "silver",
    "silver.silver_job:refine_and_repair",
    "Turn bronze into silver: refine, then repair, in one application.",
)
