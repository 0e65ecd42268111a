"""The repair job: applies late events to silver."""

from lakehouse.contracts.silver import LOCK
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import run_microbatches
from silver.repair import Repair

_MOST_PAUSES = 4
"""The longest pause between two micro-batches, in times of `repair_interval`: docs/decisions/0072."""


def repair(run: JobContext) -> None:
    """Add late events to the rows they belong to; resolve identities; find bots."""
    pause = run.settings.repair_interval
    run_microbatches(run, "refine", Repair(run), lock=LOCK, pause=pause, longest_pause=_MOST_PAUSES * pause)
