"""Does deduplication cost the same with 16 times the history? And is it exact?"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from benchmarks.bench import application, print_table, progress
from benchmarks.dedup_designs import Joined, Merged, Stream
from benchmarks.dedup_traffic import BATCH, Planned, every_age, history, usual_batch
from lakehouse.contracts.silver import EVENTS
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.checkpointing import checkpoint
from lakehouse.settings import Settings

MOST = 1.2
SIZES = (1, 2, 4, 8, 16)
_TABLE_DESIGNS = {
    "refine": Joined,
    "refine, copies of every age": Joined,
    "MERGE, insert-only": Merged,
}
_STREAM_DESIGNS: dict[str, Callable] = {
    "dropDuplicatesWithinWatermark": lambda rows: rows.dropDuplicatesWithinWatermark(["event_id"]),
    "dropDuplicates, no horizon": lambda rows: rows.dropDuplicates(["event_id"]),
}
_OURS, _EVERY_AGE = list(_TABLE_DESIGNS)[:2]
_EXACT = [_OURS, _EVERY_AGE]


@dataclass
class Bench:
    """One run of the benchmark: seconds by design and history size, and errors."""

    spark: SparkSession
    settings: Settings
    unit: int
    repetitions: int
    seconds: dict[str, dict[int, float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    copies: int = 0

    def __post_init__(self) -> None:
        self.lake = Lakehouse(self.spark, self.settings, "refine")
        self._numbers = itertools.count()
        self._stamps = 0

    def run(self, sizes: tuple[int, ...]) -> None:
        """Extend the history step by step, and time each design at each size."""
        for size in sizes:
            self._grow(size)
            for name in _TABLE_DESIGNS:
                self._time_tables(name, size, warm_up=2 if size == sizes[0] else 0)
        for name, drop in _STREAM_DESIGNS.items():
            stream = Stream(self.spark, str(self.settings.home / name.partition(",")[0]), drop)
            for before, size in zip((0, *sizes), sizes, strict=False):
                self._time_stream(name, stream, before, size)
            stream.stop()

    def _grow(self, size: int) -> None:
        progress(f"{size} x: history of {size * self.unit:,} UIDs")
        end = size * self.unit // BATCH
        self.lake.append(EVENTS.name, history(self.spark, self._stamps, end))
        self._stamps = end

    def _time_tables(self, name: str, size: int, warm_up: int) -> None:
        started = time.monotonic()
        design = _TABLE_DESIGNS[name](self.lake, self._stamps)
        progress(f"{size} x: {name} (ready in {time.monotonic() - started:.1f} s)")
        make = every_age if name == _EVERY_AGE else usual_batch
        times = [
            self._time_table(name, design, make(self._stamps, next(self._numbers)))
            for _ in range(warm_up + self.repetitions)
        ]
        self._note(name, size, times[warm_up:])

    def _time_table(self, name: str, design: Joined | Merged, batch: Planned) -> float:
        candidates = checkpoint(batch.candidates(self.spark))
        version = DeltaTable.forName(self.spark, EVENTS.name).history(1).collect()[0].version
        before = self.lake.read(EVENTS.name).count()
        started = time.monotonic()
        found = design(candidates, batch)
        seconds = time.monotonic() - started
        added = self.lake.read(EVENTS.name).count() - before
        self._check(name, batch, found, added)
        self.spark.sql(f"RESTORE TABLE {EVENTS.name} TO VERSION AS OF {version}")
        return seconds

    def _check(self, name: str, batch: Planned, found: dict[int, int], added: int) -> None:
        planted = batch.planted
        if added != BATCH - len(planted):
            self._complain(f"{name}: {added} rows written, not {BATCH - len(planted)}")
        if name in _EXACT:
            self.copies += len(planted)
            missed, invented = planted.items() - found.items(), found.items() - planted.items()
            if missed or invented:
                self._complain(f"{name}: {len(missed)} copies missed, {len(invented)} that are none")

    def _complain(self, text: str) -> None:
        progress(f"WRONG: {text}")
        self.wrong.append(text)

    def _time_stream(self, name: str, stream: Stream, before: int, size: int) -> None:
        first, end = (times * self.unit // BATCH for times in (before, size))
        taken = stream.feed(history(self.spark, first, end))
        progress(f"{size} x: {name} (took the history in, in {taken:.1f} s)")
        batches = [usual_batch(end, next(self._numbers)) for _ in range(self.repetitions)]
        self._note(name, size, [stream.feed(batch.candidates(self.spark)) for batch in batches])

    def _note(self, name: str, size: int, times: list[float]) -> None:
        progress(f"{size} x: {name}: {', '.join(f'{seconds:.2f}' for seconds in times)} s")
        self.seconds.setdefault(name, {})[size] = median(times)


def _report(bench: Bench, sizes: tuple[int, ...]) -> float:
    """Print the results. Returns the growth ratio of refine."""
    ratios = {name: times[sizes[-1]] / times[sizes[0]] for name, times in bench.seconds.items()}
    print_table(
        f"Seconds per micro-batch of {BATCH:,} records, median of {bench.repetitions}, by UIDs behind it",
        ["", *(f"{size * bench.unit / 1e6:g} M" for size in sizes), f"{sizes[-1]} x / {sizes[0]} x"],
        [
            [name, *(f"{times[size]:.2f}" for size in sizes), f"{ratios[name]:.2f}"]
            for name, times in bench.seconds.items()
        ],
    )
    print(f"Copies planted: {bench.copies:,}. " + ("; ".join(bench.wrong) or "All caught, and nothing else."))
    return ratios[_OURS]


def main() -> int:
    """Run, print, and fail if a copy was missed or the cost grows."""
    parser = argparse.ArgumentParser(prog="make bench-dedup", description=__doc__)
    parser.add_argument("--unit", type=int, default=1_000_000, help="UIDs of the smallest history")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="multiples of it, rising")
    parser.add_argument("--repetitions", type=int, default=3, help="micro-batches timed for each figure")
    options = parser.parse_args()
    sizes = tuple(map(int, options.sizes.split(",")))
    with application() as (spark, settings):
        bench = Bench(spark, settings, options.unit, options.repetitions)
        bench.run(sizes)
    ratio = _report(bench, sizes)
    print(f"Ratio for refine: {ratio:.2f}, at most {MOST} is wanted.")
    return int(bool(bench.wrong) or ratio > MOST)


if __name__ == "__main__":
    sys.exit(main())
