"""The repair job: late rows into what was written without them."""

from lakehouse.contracts.silver import LOCK
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import run_microbatches
from silver.repair import Repair


def repair(run: JobContext) -> None:
    """Bring late events into the rows they belong to; say who visitors are, and which are bots."""
    run_microbatches(run, "refine", Repair(run), lock=LOCK, pause=run.settings.repair_interval)
