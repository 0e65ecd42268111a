"""Entry points of the wheel: what each job of lakehouse is called, and where its body is."""

from lakehouse.entry_point import Job

maintenance = Job.imported(
    "maintenance",
    "lakehouse.maintenance.maintenance_job:maintain",
    "Put small files together, lay out grown ones, remove replaced ones; streams go on meanwhile.",
)
