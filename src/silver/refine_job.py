"""The refine job: bronze to silver."""

from lakehouse.batches import follow
from lakehouse.job import Run
from silver.growing import LOCK
from silver.parse import load_rules
from silver.refine import Refine


def refine(run: Run) -> None:
    """Turn bronze records into events without copies and rejects with reasons, and what events form."""
    process = Refine(run, lambda: load_rules(run.settings.conf))
    follow(run, "ingest", process, holding=LOCK, reached=process.reached)
