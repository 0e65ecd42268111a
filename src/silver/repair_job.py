"""The repair job: late rows into what was written without them."""

from lakehouse.batches import follow
from lakehouse.contracts.silver import LOCK
from lakehouse.job import Run
from silver.repair import Repair


def repair(run: Run) -> None:
    """Bring late events into the rows they belong to; say who visitors are, and which are bots."""
    follow(run, "refine", Repair(run), holding=LOCK, pause=run.settings.repair_interval)
