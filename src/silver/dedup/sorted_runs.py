"""A multimap from hash to ingest stamp, stored as sorted runs.

It works like a log-structured merge tree: each batch is a run, and runs of similar size are merged. Each key
is moved log2(keys / batch) times in total, and a lookup searches as many runs.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.int64]
Stamps = NDArray[np.int64]
_Places = NDArray[np.uint32]


@dataclass(frozen=True)
class Matches:
    """Hashes that were found and their stamps in microseconds, once per insertion."""

    hashes: Hashes
    stamps: Stamps

    def upto(self, stamp: int) -> "Matches":
        """Matches with this stamp or an earlier one."""
        kept = self.stamps <= stamp
        return Matches(self.hashes[kept], self.stamps[kept])

    def spans(self, most: int) -> list[tuple[int, int]]:
        """Cover the stamps with at most `most` closed spans, split at the widest gaps."""
        stamps = np.unique(self.stamps)
        if not len(stamps):
            return []
        widest = np.argsort(-np.diff(stamps), kind="stable")[: most - 1]
        parts = np.split(stamps, np.sort(widest) + 1)
        return [(int(part[0]), int(part[-1])) for part in parts]


@dataclass
class SortedRuns:
    """The multimap. It takes 12 bytes per key."""

    _runs: list[tuple[Hashes, _Places]] = field(default_factory=list)
    _stamps: Stamps = field(default_factory=lambda: np.empty(0, np.int64))

    def add(self, hashes: Hashes, stamps: Stamps) -> None:
        """Insert a batch. Its stamps must be later than all stamps inserted before."""
        if not len(hashes):
            return
        distinct, places = np.unique(stamps, return_inverse=True)
        run = _sort(hashes, (places + len(self._stamps)).astype(np.uint32))
        self._stamps = np.concatenate([self._stamps, distinct])
        self._runs.append(run)
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= len(self._runs[-1][0]):
            self._runs.append(_merge(self._runs.pop(), self._runs.pop()))

    def find(self, hashes: Hashes) -> Matches:
        """Find every entry with one of the hashes.

        Args:
            hashes: sorted, without repeats.
        """
        found = [_search(run, hashes) for run in self._runs]
        if not found:
            return Matches(np.empty(0, np.int64), np.empty(0, np.int64))
        places = np.concatenate([places for _, places in found])
        return Matches(np.concatenate([matched for matched, _ in found]), self._stamps[places])


def _sort(hashes: Hashes, places: _Places) -> tuple[Hashes, _Places]:
    order = np.argsort(hashes, kind="stable")
    return hashes[order], places[order]


def _merge(one: tuple[Hashes, _Places], other: tuple[Hashes, _Places]) -> tuple[Hashes, _Places]:
    return _sort(np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]]))


def _search(run: tuple[Hashes, _Places], hashes: Hashes) -> tuple[Hashes, _Places]:
    keys, places = run
    first = np.searchsorted(keys, hashes)
    hit = keys[np.minimum(first, len(keys) - 1)] == hashes
    matched, first = hashes[hit], first[hit]
    counts = np.searchsorted(keys, matched, side="right") - first
    starts = np.repeat(first - np.cumsum(counts) + counts, counts)
    return np.repeat(matched, counts), places[starts + np.arange(len(starts))]
