"""What does a round of 5,000 events cost: Spark jobs, shuffles, commits, table reads, seconds?"""

import argparse
import sys
from collections.abc import Callable, Sequence

from benchmarks.bench import application, print_table, progress
from benchmarks.bronze_traffic import trickle_in
from gold.publish_job import publish
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from silver.refine_job import refine
from silver.repair_job import repair

EVENTS = 5_000
HISTORY = 50_000
_JOBS: dict[str, Callable[[JobContext], None]] = {"refine": refine, "repair": repair, "publish": publish}


def run_rounds(events: int, history: int, rounds: int) -> list[list[Entry]]:
    """Process the history, then the rounds one by one.

    Returns:
        The ledger rows of the jobs, by round.
    """
    with application() as (spark, settings):
        lake = Lakehouse(spark.newSession(), settings, "ingest")
        arriving = trickle_in(lake, history + rounds * events, events)
        for _ in range(history // events):
            next(arriving)
        runs = {job: JobContext(job, spark.newSession(), settings, once=True) for job in _JOBS}
        found = [_run_jobs(runs)]
        progress(f"{history:,} events of history: {_seconds(found[0])} s")
        for number, _ in enumerate(arriving):
            found.append(_run_jobs(runs))
            progress(f"round {number + 1}: {_seconds(found[-1])} s")
    return found[1:]


def _run_jobs(runs: dict[str, JobContext]) -> list[Entry]:
    done = []
    for job, run in runs.items():
        _JOBS[job](run)
        last = Ledger(run.lake).last(job)
        done += [last] if last else []
    return done


def _seconds(entries: Sequence[Entry]) -> str:
    return ", ".join(f"{entry.job} {entry.seconds:.1f}" for entry in entries)


def _report(entries: Sequence[Entry], events: int) -> None:
    rows = [[entry.job, *map(_shown, _figures(entry))] for entry in entries]
    totals = [sum(figure or 0 for figure in figures) for figures in zip(*map(_figures, entries), strict=True)]
    title = f"A round of {events:,} events, by the ledger; a commit more for each of its rows"
    columns = ["", "jobs", "shuffles", "commits", "look-ups", "s"]
    print_table(title, columns, [*rows, ["all", *map(_shown, totals)]])


def _figures(entry: Entry) -> list[float | None]:
    return [entry.spark_jobs, entry.shuffles, entry.commits, entry.table_reads, entry.seconds]


def _shown(figure: float | None) -> str:
    if figure is None:
        return "unknown"
    return f"{figure:.2f}" if isinstance(figure, float) else str(figure)


def main() -> int:
    """Run, and print the last round."""
    parser = argparse.ArgumentParser(prog="make bench-round", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="of a round")
    parser.add_argument("--history", type=int, default=HISTORY, help="events before the first round")
    parser.add_argument("--rounds", type=int, default=4, help="of which the last counts, the others warm up")
    options = parser.parse_args()
    _report(run_rounds(options.events, options.history, options.rounds)[-1], options.events)
    return 0


if __name__ == "__main__":
    sys.exit(main())
