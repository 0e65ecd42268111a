"""Entry points of the wheel: what each job of gold is called, and where its body is."""

from lakehouse.entry_point import Job

publish = Job.imported(
    "publish",
    "gold.publish_job:publish",
    "Keep conversions, their credit and what all visitors do in step with silver.",
)

attribution_model = Job.imported(
    "attribution-model",
    "gold.models.model_job:attribute_paths",
    "Credit channels by the data-driven models, in each calendar month and the last 30 days.",
)

quality = Job.imported(
    "quality",
    "gold.gate.quality_job:check_quality",
    "Hold recent rows against all expectations, and make the report anew.",
)
