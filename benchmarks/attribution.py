"""Does a micro-batch of refine and of publish cost the same with 16 times as many touches in the history?"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from statistics import median

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.attribution_home import fill
from benchmarks.attribution_peer import StreamJoin
from benchmarks.attribution_traffic import BATCH, END, LATEST, History, records_of, stamp_of
from benchmarks.bench import application, print_table, progress
from folds.records.parse_rules import load_parse_rules
from gold.publish import Publish, PublishRules
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.gold import CONVERSIONS
from lakehouse.run.batch_source import Batch
from lakehouse.run.job import JobContext
from lakehouse.settings import Settings
from silver.refine import Refine
from silver.repair import Repair

MOST = 1.3
UNIT = 312_500
SIZES = (1, 16)
_REFINE, _PUBLISH = "refine", "publish"
_PEER = "stream-stream join, 30 days of state"


@dataclass
class Bench:
    """One run of the benchmark: seconds by design and history size."""

    unit: int
    repetitions: int
    latest: timedelta
    longer: bool
    peer: bool
    seconds: dict[str, dict[int, float]] = field(default_factory=dict)

    def run(self, size: int) -> None:
        """Time both designs on a history of this size, each in its own home."""
        with application() as (spark, settings):
            history = self._history(spark, size)
            progress(f"{size} x: {history.visits:,} touches")
            run = JobContext("publish", spark, settings, once=True)
            fill(run, history)
            refine = Refine(replace(run, job="refine"), lambda: load_parse_rules(settings.conf))
            publish = Publish(run, lambda: PublishRules.load(settings.conf))
            rounds = [self._round(run, refine, publish, history, number) for number in self._numbers]
            self._note(_REFINE, size, [seconds for seconds, _ in rounds])
            self._note(_PUBLISH, size, [seconds for _, seconds in rounds])
        if self.peer:
            with application() as (spark, settings):
                self._time_peer(spark, settings, size)

    def _history(self, spark: SparkSession, size: int) -> History:
        return History(spark, size * self.unit, self.latest, size if self.longer else 1)

    @property
    def _numbers(self) -> range:
        return range(1, self.repetitions + 3)

    def _round(
        self, run: JobContext, refine: Refine, publish: Publish, history: History, number: int
    ) -> tuple[float, float]:
        """Seconds of refine and of publish."""
        events = history.batch(number)
        run.lake.append(KAFKA_RECORDS.name, records_of(events))
        watermark = END + (number - 1) * timedelta(minutes=40)
        batch = Batch(
            id=number,
            after=stamp_of(number - 1),
            upto=stamp_of(number),
            rows=BATCH,
            watermark=watermark,
            upstream_watermark=watermark,
        )
        run.tune_for_batch(BATCH)
        refining = _time(refine, batch)
        Repair(replace(run, job="repair"))(batch)
        before = run.lake.read(CONVERSIONS.name).count()
        publishing = _time(publish, batch)
        added = run.lake.read(CONVERSIONS.name).count() - before
        if added != events.where(F.col("goal").isNotNull()).count():
            raise SystemExit(f"{added} conversions came of a micro-batch, which is not what was sent")
        return refining, publishing

    def _time_peer(self, spark: SparkSession, settings: Settings, size: int) -> None:
        history = self._history(spark, size)
        peer = StreamJoin(spark, str(settings.home))
        taken = peer.feed(history.events())
        progress(f"{size} x: {_PEER} (took the history in, in {taken:.0f} s)")
        self._note(_PEER, size, [peer.feed(history.batch(number)) for number in self._numbers])
        peer.stop()

    def _note(self, name: str, size: int, times: list[float]) -> None:
        shown = ", ".join(f"{seconds:.2f}" for seconds in times)
        progress(f"{size} x: {name}: {shown} s, the first two to warm up")
        self.seconds.setdefault(name, {})[size] = median(times[2:])


def _time(process: Callable[[Batch], object], batch: Batch) -> float:
    started = time.monotonic()
    process(batch)
    return time.monotonic() - started


def _report(bench: Bench, sizes: tuple[int, ...]) -> float:
    ratios = {name: times[sizes[-1]] / times[sizes[0]] for name, times in bench.seconds.items()}
    print_table(
        f"Seconds per micro-batch of {BATCH:,} events, median of {bench.repetitions}, by touches behind it",
        ["", *(f"{size * bench.unit:,}" for size in sizes), f"{sizes[-1]} x / {sizes[0]} x"],
        [
            [name, *(f"{times[size]:.2f}" for size in sizes), f"{ratios[name]:.2f}"]
            for name, times in bench.seconds.items()
        ],
    )
    return max(ratios[_REFINE], ratios[_PUBLISH])


def main() -> int:
    """Run, print, and fail if the cost grows."""
    parser = argparse.ArgumentParser(prog="make bench-attribution", description=__doc__)
    parser.add_argument("--unit", type=int, default=UNIT, help="touches of the smallest history")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="multiples of it, rising")
    parser.add_argument("--repetitions", type=int, default=3, help="micro-batches timed for each figure")
    parser.add_argument(
        "--late-days", type=float, default=LATEST / timedelta(days=1), help="how late events are at most"
    )
    parser.add_argument(
        "--longer", action="store_true", help="so many times the months, instead of visitors in one month"
    )
    parser.add_argument("--without-peer", action="store_true", help="leave out the join of two streams")
    options = parser.parse_args()
    sizes = tuple(map(int, options.sizes.split(",")))
    late = timedelta(days=options.late_days)
    bench = Bench(options.unit, options.repetitions, late, options.longer, not options.without_peer)
    for size in sizes:
        bench.run(size)
    ratio = _report(bench, sizes)
    print(f"Larger ratio of refine and publish: {ratio:.2f}, at most {MOST} is wanted.")
    return int(ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
