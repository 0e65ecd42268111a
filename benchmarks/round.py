"""What does a round of 5,000 events cost: Spark jobs, shuffles, commits, table reads, seconds?"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from benchmarks.bench import application, print_table, progress
from benchmarks.bronze_traffic import SAMPLE, trickle_in
from gold.publish_job import publish
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry, Ledger
from silver.refine_job import refine
from silver.repair_job import repair

EVENTS = 5_000
HISTORY = 400_000
JOBS: dict[str, Callable[[JobContext], None]] = {"refine": refine, "repair": repair, "publish": publish}

Figures = list[float | None]


def run_rounds(events: int, history: int, intervals: int) -> tuple[list[list[Entry]], int]:
    """Process the history, then the rounds of several intervals of repair, which runs in the last round.

    Returns:
        The ledger rows of the jobs, by round, and the number of rounds in an interval.
    """
    with application() as (spark, settings):
        every = max(1, round(settings.repair_interval / settings.trigger_interval))
        rounds = intervals * every
        lake = Lakehouse(spark.newSession(), settings, "ingest")
        total = history + rounds * events
        whole = total if total <= SAMPLE else -(-total // SAMPLE) * SAMPLE  # see `trickle_in`
        arriving = islice(trickle_in(lake, whole, events), total // events)
        for _ in range(history // events):
            next(arriving)
        runs = {job: JobContext(job, spark.newSession(), settings, once=True) for job in JOBS}
        found = [run_jobs(runs)]
        progress(f"{history:,} events of history: {_seconds(found[0])} s")
        for number, _ in enumerate(arriving, start=1):
            due = {job: run for job, run in runs.items() if job != "repair" or number % every == 0}
            found.append(run_jobs(due))
            progress(f"round {number}: {_seconds(found[-1])} s")
    return found[1:], every


def run_jobs(runs: Mapping[str, JobContext]) -> list[Entry]:
    """Run jobs until they have caught up. Returns the last ledger row of each."""
    done = []
    for job, run in runs.items():
        JOBS[job](run)
        last = Ledger(run.lake).last(job)
        done += [last] if last else []
    return done


def _seconds(entries: Sequence[Entry]) -> str:
    return ", ".join(f"{entry.job} {entry.seconds:.1f}" for entry in entries)


def _report(entries: Sequence[Entry], events: int, rounds: int) -> None:
    by_job = {job: [_figures(entry) for entry in entries if entry.job == job] for job in JOBS}
    means = {job: _sums(figures, rounds) for job, figures in by_job.items()}
    rows = [[job, *map(_shown, figures)] for job, figures in means.items()]
    title = f"A round of {events:,} events, by the ledger: mean of {rounds}, repair in one of them; "
    columns = ["", "jobs", "tasks", "s of tasks", "shuffles", "commits", "look-ups", "s"]
    total = ["all", *map(_shown, _sums(list(means.values()), 1))]
    print_table(title + "a commit more for each ledger row", columns, [*rows, total])


def _sums(rows: Sequence[Figures], divisor: int) -> Figures:
    return [None if None in each else sum(each) / divisor for each in zip(*rows, strict=True)]


def _figures(entry: Entry) -> Figures:
    return [
        entry.spark_jobs,
        entry.tasks,
        entry.task_seconds,
        entry.shuffles,
        entry.commits,
        entry.table_reads,
        entry.seconds,
    ]


def _shown(figure: float | None) -> str:
    return "unknown" if figure is None else f"{figure:.2f}"


def main() -> int:
    """Run, and print the mean of the last rounds."""
    parser = argparse.ArgumentParser(prog="make bench-round", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help="of a round")
    parser.add_argument("--history", type=int, default=HISTORY, help="events before the first round")
    parser.add_argument("--intervals", type=int, default=2, help="of repair; the last one counts")
    options = parser.parse_args()
    found, rounds = run_rounds(options.events, options.history, options.intervals)
    _report([entry for entries in found[-rounds:] for entry in entries], options.events, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
