"""What do file digests cost: a round of 5,000 events with and without digests being recorded?"""

import argparse
import threading
import time
from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.bench import application, print_table, progress
from benchmarks.bronze_traffic import trickle_in
from benchmarks.round import EVENTS, HISTORY
from gold.publish_job import publish
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.job import JobContext
from millrace.audit.digests.recorder import DigestRecorder
from millrace.audit.file_bytes import audit_bytes
from silver.refine_job import refine
from silver.repair_job import repair

_JOBS: dict[str, Callable[[JobContext], None]] = {"refine": refine, "repair": repair, "publish": publish}
_ROUNDS_OF_A_MINUTE = 12


def run_rounds(rounds: int) -> tuple[list[float], list[float], list[tuple[int, float]], str]:
    """Run rounds. Every twelfth runs while the files of the last minute are recorded.

    Returns:
        Seconds of rounds without and with recording; files and seconds of each recording; the audit result.
    """
    with application() as (spark, settings):
        lake = Lakehouse(spark.newSession(), settings, "ingest")
        arriving = trickle_in(lake, HISTORY + rounds * EVENTS, EVENTS)
        for _ in range(HISTORY // EVENTS):
            next(arriving)
        runs = [
            (job, JobContext(name, spark.newSession(), settings, once=True)) for name, job in _JOBS.items()
        ]
        recorder = DigestRecorder(settings)
        alone, during, recorded = list[float](), list[float](), list[tuple[int, float]]()

        def record() -> None:
            clock = time.monotonic()
            recorded.append((recorder.record(), time.monotonic() - clock))

        _run(runs)
        record()
        for number, _ in enumerate(arriving, 1):
            thread = threading.Thread(target=record) if number % _ROUNDS_OF_A_MINUTE == 0 else None
            if thread:
                thread.start()
            (during if thread else alone).append(_run(runs))
            if thread:
                thread.join()
        record()
        return alone, during, recorded, " ".join(list(audit_bytes(settings))[-1].detail.split())


def _run(runs: Sequence[tuple[Callable[[JobContext], None], JobContext]]) -> float:
    clock = time.monotonic()
    for job, run in runs:
        job(run)
    return time.monotonic() - clock


def main() -> None:
    """Print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5 * _ROUNDS_OF_A_MINUTE)
    alone, during, recorded, audit = run_rounds(parser.parse_args().rounds)
    progress(f"rounds during a recording: {', '.join(f'{seconds:.2f}' for seconds in during)} s")
    rows = [
        ["a round alone", "", f"{median(alone):.2f}"],
        ["a round during a recording", "", f"{median(during):.2f}"],
        *[["a recording", f"{files:,}", f"{seconds:.3f}"] for files, seconds in recorded],
    ]
    print_table(f"Rounds of {EVENTS:,} events, by the clock; then {audit}", ["", "files", "s"], rows)


if __name__ == "__main__":
    main()
