"""The refine job: bronze to silver."""

from lakehouse.batches import follow
from lakehouse.job import Job, Run
from silver.growing import LOCK
from silver.parse import Rules
from silver.refine import Refine
from silver.rules.channels import load_channel_rules
from silver.rules.roles import load_role_rules


def refine(run: Run) -> None:
    """Turn bronze records into events without copies and rejects with reasons, and what events form."""
    rules = Rules(load_role_rules(run.settings.conf), load_channel_rules(run.settings.conf))
    process = Refine(run, rules)
    follow(run, "ingest", process, holding=LOCK, reached=process.reached)


main = Job("refine", refine)
