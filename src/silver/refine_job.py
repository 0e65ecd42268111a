"""The refine job: bronze to silver."""

from folds.records.parse_rules import load_parse_rules
from lakehouse.contracts.silver import LOCK
from lakehouse.run.job import Run
from lakehouse.run.microbatch import follow
from silver.refine import Refine


def refine(run: Run) -> None:
    """Turn bronze records into events without copies and rejects with reasons, and what events form."""
    process = Refine(run, lambda: load_parse_rules(run.settings.conf))
    follow(run, "ingest", process, holding=LOCK, reached=process.reached)
