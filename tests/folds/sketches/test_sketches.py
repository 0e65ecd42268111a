"""Visitor and value sketches against exact results: error bounds, merges and order of input."""

import random
from bisect import bisect_left, bisect_right
from statistics import mean

from datasketches import kll_doubles_sketch
from hypothesis import given
from hypothesis import strategies as st

from folds.sketches.value_sketch import RANK_ERROR, K, quantiles, sketch_values
from folds.sketches.visitor_sketch import estimate_visitors, sketch_visitors

SETS = 300


def test_exact_count_lies_within_sketch_bounds_in_95_percent_of_sets() -> None:
    chance = random.Random(5)
    within, errors = 0, []
    for number in range(SETS):
        size = chance.choice([3, 150, 900, 4_000, 20_000])
        parts = [[f"{number}-{chance.randrange(size)}" for _ in range(size)] for _ in range(3)]
        exact = len({visitor for part in parts for visitor in part})
        found = estimate_visitors(map(sketch_visitors, parts))
        within += found.lower <= exact <= found.upper
        errors.append(abs(found.visitors - exact) / exact)
        assert found.lower <= found.visitors <= found.upper
    assert within >= 0.95 * SETS
    assert mean(errors) < 0.016  # the relative standard error of the size chosen


visitors = st.lists(st.integers(0, 400).map(lambda number: f"visitor {number}"), max_size=300)


@given(visitors, st.data())
def test_merged_sketches_count_small_sets_exactly_for_any_split(made: list[str], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(made)), max_size=4)))
    parts = [made[start:end] for start, end in zip([0, *cuts], [*cuts, len(made)], strict=True)]
    together = estimate_visitors(map(sketch_visitors, parts))
    assert together.lower <= len(set(made)) <= together.upper
    assert round(together.visitors) == len(set(made))  # small sets are stored exactly


@given(visitors, st.randoms())
def test_visitor_sketch_ignores_order_and_repetition(made: list[str], chance: random.Random) -> None:
    again = [*made, *made]
    chance.shuffle(again)
    assert sketch_visitors(again) == sketch_visitors(made)


def test_merged_quantiles_stay_within_rank_error_in_99_percent() -> None:
    chance = random.Random(7)
    ranks, wrong, asked = (0.1, 0.5, 0.9, 0.99), 0, 0
    for _ in range(100):
        parts = [[chance.lognormvariate(3, 1) for _ in range(chance.randrange(1, 3_000))] for _ in range(4)]
        exact = sorted(value for part in parts for value in part)
        sketches = [sketch for part in parts if (sketch := sketch_values(part))]
        assert sum(kll_doubles_sketch.deserialize(each).n for each in sketches) == len(exact)
        for rank, found in zip(ranks, quantiles(sketches, ranks) or (), strict=True):
            asked += 1
            lowest, highest = bisect_left(exact, found.value), bisect_right(exact, found.value)
            wrong += not lowest / len(exact) - RANK_ERROR <= rank <= highest / len(exact) + RANK_ERROR
            assert found.lower <= found.value <= found.upper
    assert wrong <= 0.01 * asked


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=K))
def test_value_sketch_of_few_values_has_exact_minimum_and_maximum(values: list[float]) -> None:
    sketch = sketch_values(values)
    assert sketch is not None
    ((lowest, *_), (highest, *_)) = quantiles([sketch], (0.0, 1.0)) or ()
    assert (lowest, highest) == (min(values), max(values))


def test_empty_input_has_zero_visitors_and_no_quantiles() -> None:
    assert estimate_visitors([]) == (0.0, 0.0, 0.0)
    assert sketch_values([]) is None
    assert quantiles([], (0.5,)) is None
