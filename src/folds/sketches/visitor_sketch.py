"""Distinct visitors by an HLL sketch of Apache DataSketches.

It hashes UTF-8 text as DataSketches does in Java: Spark's `hll_sketch_estimate` and `hll_union_agg` read it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from datasketches import hll_sketch, hll_union, tgt_hll_type

LG_K = 12
"""Base-2 logarithm of the registers: a relative standard error of 1.6 %, in 2 KB."""

_DEVIATIONS = 2  # standard deviations: a confidence of about 95 %


class Estimate(NamedTuple):
    """Estimated distinct visitors, with the bounds of a 95 % confidence interval."""

    visitors: float
    lower: float
    upper: float


def sketch_visitors(visitor_ids: Iterable[str]) -> bytes:
    """Build a sketch of visitors; order and repeats do not matter."""
    sketch = hll_sketch(LG_K, tgt_hll_type.HLL_4)
    for visitor_id in sorted(set(visitor_ids)):
        sketch.update(visitor_id)
    return bytes(sketch.serialize_compact())


def estimate_visitors(sketches: Iterable[bytes]) -> Estimate:
    """Estimate the distinct visitors of all sketches together."""
    union = hll_union(LG_K)
    for sketch in sketches:
        union.update(hll_sketch.deserialize(sketch))
    bounds = (union.get_lower_bound(_DEVIATIONS), union.get_upper_bound(_DEVIATIONS))
    return Estimate(union.get_estimate(), *bounds)
