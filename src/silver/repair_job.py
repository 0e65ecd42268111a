"""The repair job: late rows into what was written without them."""

from lakehouse.batches import follow
from lakehouse.job import Job, Run
from silver.growing import LOCK
from silver.repair import Repair


def repair(run: Run) -> None:
    """Bring late events into the rows they belong to."""
    follow(run, "refine", Repair(run), holding=LOCK)


main = Job("repair", repair)
