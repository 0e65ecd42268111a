"""Entry points of the wheel: names of gold's jobs, and their functions."""

from lakehouse.entry_point import Job

publish = Job.imported(
    "publish",
    "gold.publish_job:publish",
    "Update conversions, attribution, traffic and tables by day from silver.",
)

attribution_model = Job.imported(
    "attribution-model",
    "gold.models.model_job:attribute_paths",
    "Credit channels by the data-driven models, in each calendar month and the last 30 days.",
)

quality = Job.imported(
    "quality",
    "gold.gate.quality_job:check_quality",
    "Evaluate all expectations on recent rows, and build the report.",
)
