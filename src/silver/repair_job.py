"""The repair job: applies late events to silver."""

from lakehouse.contracts.silver import LOCK
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import run_microbatches
from silver.repair import Repair


def repair(run: JobContext) -> None:
    """Add late events to the rows they belong to; resolve identities; find bots."""
    run_microbatches(run, "refine", Repair(run), lock=LOCK, pause=run.settings.repair_interval)
