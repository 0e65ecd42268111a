"""The refine job: bronze to silver."""

from lakehouse.batches import follow
from lakehouse.contracts.silver import SESSIONS
from lakehouse.job import Job, Run
from silver.parse import load_rules
from silver.refine import Refine


def refine(run: Run) -> None:
    """Turn bronze records into events without copies, rejects with reasons, and sessions."""
    process = Refine(run, lambda: load_rules(run.settings.conf))
    follow(run, "ingest", process, holding=SESSIONS.name, reached=process.reached)


main = Job("refine", refine)
