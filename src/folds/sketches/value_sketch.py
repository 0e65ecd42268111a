"""Quantiles of order values by a KLL sketch of Apache DataSketches."""

from collections.abc import Iterable
from typing import NamedTuple

from datasketches import kll_doubles_sketch

K = 200
RANK_ERROR = 0.0133
"""Maximum rank error of a quantile for `K`, as a share of all values, at 99 % confidence."""


class Quantile(NamedTuple):
    """A value at a rank, and the values at the ranks `RANK_ERROR` below and above."""

    value: float
    lower: float
    upper: float


def sketch_values(values: Iterable[float]) -> bytes | None:
    """Build a sketch of values; None if there are none. Up to `K` values it is exact."""
    sketch = kll_doubles_sketch(K)
    for value in sorted(values):
        sketch.update(value)
    return None if sketch.is_empty() else bytes(sketch.serialize())


def quantiles(sketches: Iterable[bytes], ranks: Iterable[float]) -> list[Quantile] | None:
    """Quantiles at ranks from 0 to 1 over all sketches together; None if these have no value."""
    merged = kll_doubles_sketch(K)
    for sketch in sketches:
        merged.merge(kll_doubles_sketch.deserialize(sketch))
    if merged.is_empty():
        return None
    offsets = (0.0, -RANK_ERROR, RANK_ERROR)
    return [Quantile(*(_at(merged, rank + offset) for offset in offsets)) for rank in ranks]


def _at(sketch: kll_doubles_sketch, rank: float) -> float:
    """The value at a rank. The minimum and maximum are exact."""
    if rank <= 0:
        return float(sketch.get_min_value())
    return float(sketch.get_max_value() if rank >= 1 else sketch.get_quantile(rank))
