"""The repair job: late rows into what was written without them."""

from lakehouse.batches import follow
from lakehouse.contracts.silver import SESSIONS
from lakehouse.job import Job, Run
from silver.repair import Repair


def repair(run: Run) -> None:
    """Bring late events into the sessions they belong to."""
    follow(run, "refine", Repair(run), holding=SESSIONS.name)


main = Job("repair", repair)
