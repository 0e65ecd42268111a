"""Entry points of the wheel: names of the shop's jobs, and their functions."""

from lakehouse.entry_point import Job

dimensions = Job.imported(
    "dimensions",
    "shop.dimensions_job:dimensions",
    "Keep the versions of customers, products, campaigns and orders of the shop's database.",
)
