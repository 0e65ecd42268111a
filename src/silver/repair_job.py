"""The repair job: late rows into what was written without them."""

from lakehouse.batches import follow
from lakehouse.job import Job, Run
from silver.growing import LOCK
from silver.repair import Repair
from silver.rules.bots import load_bot_rules


def repair(run: Run) -> None:
    """Bring late events into the rows they belong to; say who visitors are, and which are bots."""
    follow(run, "refine", Repair(run, load_bot_rules(run.settings.conf)), holding=LOCK)


main = Job("repair", repair)
