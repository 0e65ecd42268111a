"""The publish job: silver to gold."""

import yaml

from gold.publish import Publish
from lakehouse.batches import follow
from lakehouse.job import Job, Run


def publish(run: Run) -> None:
    """Keep conversions, attribution and traffic in step with silver."""
    tracks = yaml.safe_load((run.settings.conf / "roles.yml").read_text())["tracks"]
    refunds = {goal: rule["refunds"] for goal, rule in tracks.items() if "refunds" in rule}
    follow(run, "repair", Publish(run, refunds))


main = Job("publish", publish)
