"""The refine job: bronze to silver."""

from folds.records.parse_rules import load_parse_rules
from lakehouse.contracts.silver import LOCK
from lakehouse.run.job import JobContext
from lakehouse.run.microbatch import run_microbatches
from silver.refine import Refine


def refine(run: JobContext) -> None:
    """Parse records to events, remove duplicates, and build sessions, impressions and searches."""
    process = Refine(run, lambda: load_parse_rules(run.settings.conf))
    run_microbatches(
        run,
        "ingest",
        process,
        lock=LOCK,
        processed_through=process.processed_through,
        starts_while_draining=run.once,  # jobs downstream may run when this one has ended
    )
