"""The repair job: late rows into what was written without them."""

from lakehouse.batches import follow
from lakehouse.job import Job, Run
from lakehouse.rules import rules_version
from silver.growing import LOCK
from silver.repair import Repair
from silver.rules.bots import load_bot_rules


def repair(run: Run) -> None:
    """Bring late events into the rows they belong to; say who visitors are, and which are bots."""
    conf = run.settings.conf
    process = Repair(run, load_bot_rules(conf), rules_version(conf))
    follow(run, "refine", process, holding=LOCK, pause=run.settings.repair_interval)


main = Job("repair", repair)
