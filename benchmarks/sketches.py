"""What do sketches cost in bytes, time and error, by number of visitors and of order values?"""

import random
import sys
import time
from bisect import bisect_left

from benchmarks.bench import print_table
from folds.sketches.value_sketch import quantiles, sketch_values
from folds.sketches.visitor_sketch import estimate_visitors, sketch_visitors

_DAYS = 30


def _visitors(size: int) -> list[str]:
    days = [[f"{day}-{size}-{number // 2}" for number in range(size)] for day in range(_DAYS)]
    started = time.perf_counter()
    sketches = [sketch_visitors(day) for day in days]
    built = (time.perf_counter() - started) / _DAYS
    started = time.perf_counter()
    found = estimate_visitors(sketches)
    merged = time.perf_counter() - started
    exact = _DAYS * len(set(days[0]))
    bounds = f"{1 - found.lower / exact:.1%} to {found.upper / exact - 1:.1%}"
    error = f"{abs(found.visitors / exact - 1):.2%}"
    size_of = sum(map(len, sketches)) / _DAYS
    return [
        f"{len(set(days[0])):,} visitors",
        f"{size_of:,.0f}",
        f"{1e3 * built:.1f}",
        f"{1e3 * merged:.1f}",
        error,
        bounds,
    ]


def _values(size: int) -> list[str]:
    chance = random.Random(size)
    days = [[chance.lognormvariate(3, 1) for _ in range(size)] for _ in range(_DAYS)]
    started = time.perf_counter()
    sketches = [sketch for day in days if (sketch := sketch_values(day))]
    built = (time.perf_counter() - started) / _DAYS
    started = time.perf_counter()
    ((median, *_),) = quantiles(sketches, (0.5,)) or ()
    merged = time.perf_counter() - started
    exact = sorted(value for day in days for value in day)
    error = abs(bisect_left(exact, median) / len(exact) - 0.5)
    size_of = sum(map(len, sketches)) / _DAYS
    return [
        f"{size:,} values",
        f"{size_of:,.0f}",
        f"{1e3 * built:.1f}",
        f"{1e3 * merged:.1f}",
        f"{error:.2%}",
        "",
    ]


def main() -> int:
    """Print one row per size."""
    rows = [_visitors(size) for size in (20, 2_000, 200_000)] + [
        _values(size) for size in (10, 1_000, 20_000)
    ]
    columns = ["a day", "bytes", "ms to build", f"ms to merge {_DAYS} days", "error", "bounds"]
    print_table("Sketches; the error of values is that of the median's rank", columns, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
