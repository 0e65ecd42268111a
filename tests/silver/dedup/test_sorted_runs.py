"""The sorted-run index of hashes against a plain list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from silver.dedup.sorted_runs import Matches, SortedRuns

LOWEST, HIGHEST = -(2**63), 2**63 - 1
HASHES = st.one_of(st.integers(-4, 4), st.sampled_from([LOWEST, HIGHEST]))


@given(
    batches=st.lists(st.lists(st.tuples(HASHES, st.integers(0, 2)), max_size=9), max_size=12),
    wanted=st.sets(HASHES),
    upto=st.integers(0, 130),
)
def test_find_returns_exactly_the_entries_with_wanted_hashes(
    batches: list[list[tuple[int, int]]], wanted: set[int], upto: int
) -> None:
    runs = SortedRuns()
    everything = []
    for number, batch in enumerate(batches):
        entries = [(key, number * 10 + late) for key, late in batch]
        everything += entries
        runs.add(
            *(np.array(column, np.int64) for column in ([k for k, _ in entries], [s for _, s in entries]))
        )
    found = runs.find(np.array(sorted(wanted), np.int64)).upto(upto)
    expected = [entry for entry in everything if entry[0] in wanted and entry[1] <= upto]
    assert sorted(zip(found.hashes.tolist(), found.stamps.tolist(), strict=True)) == sorted(expected)


def test_number_of_runs_grows_logarithmically() -> None:
    runs = SortedRuns()
    for stamp in range(1000):
        runs.add(np.array([stamp * 7919 % 1009, stamp], np.int64), np.array([stamp, stamp], np.int64))
    assert len(runs._runs) <= 11
    assert sum(len(hashes) for hashes, _ in runs._runs) == 2000


@pytest.mark.parametrize(
    ("most", "spans"),
    [
        (9, [(1, 1), (2, 2), (10, 10), (11, 11), (40, 40)]),
        (3, [(1, 2), (10, 11), (40, 40)]),
        (2, [(1, 11), (40, 40)]),
        (1, [(1, 40)]),
    ],
)
def test_spans_split_at_widest_gaps(most: int, spans: list[tuple[int, int]]) -> None:
    stamps = np.array([11, 1, 40, 2, 10, 10], np.int64)
    assert Matches(stamps, stamps).spans(most) == spans


def test_empty_result_has_no_spans() -> None:
    assert SortedRuns().find(np.array([5], np.int64)).spans(64) == []
