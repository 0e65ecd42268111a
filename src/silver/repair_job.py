"""The repair job: late rows into what was written without them."""

from lakehouse.contracts.silver import LOCK
from lakehouse.run.job import Run
from lakehouse.run.microbatch import follow
from silver.repair import Repair


def repair(run: Run) -> None:
    """Bring late events into the rows they belong to; say who visitors are, and which are bots."""
    follow(run, "refine", Repair(run), holding=LOCK, pause=run.settings.repair_interval)
