"""Entry points of the wheel: names of the kernel's jobs, and their functions."""

from lakehouse.entry_point import Job

maintenance = Job.imported(
    "maintenance",
    "lakehouse.maintenance.maintenance_job:maintain",
    "Compact and cluster tables, and remove unreferenced files, while streams run.",
)
