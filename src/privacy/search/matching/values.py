"""Searches many values at once: joined, with bytes between them that no identifier has."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate

from privacy.search.matching.compressed import MAGICS, DamagedError, decompressed
from privacy.search.matching.matcher import Match, Matcher

_BETWEEN = b"\xff" * 8
_MAX_BYTES = 4 << 20  # of values that are joined


def find_in_values(matcher: Matcher, values: Iterable[bytes]) -> Iterator[tuple[int, Match]]:
    """Matches, each with the number of its value from 0; compressed values are decompressed too."""
    for first, group in _groups(values):
        if matches := matcher.find_in(_BETWEEN.join(group)):
            ends = list(accumulate(len(value) + len(_BETWEEN) for value in group))
            yield from ((first + bisect_right(ends, match.start), match) for match in matches)
        for number, value in enumerate(group, first):
            if value.startswith(MAGICS):
                yield from ((number, match) for match in _find_compressed(matcher, value))


def _find_compressed(matcher: Matcher, value: bytes) -> Iterator[Match]:
    content = decompressed([value])
    if content is not None:
        with suppress(DamagedError):  # other bytes that begin alike; up to there they are searched
            yield from matcher.find(content)


def _groups(values: Iterable[bytes]) -> Iterator[tuple[int, Sequence[bytes]]]:
    first, size, group = 0, 0, list[bytes]()
    for number, value in enumerate(values):
        if size > _MAX_BYTES:
            yield first, group
            first, size, group = number, 0, []
        group.append(value)
        size += len(value)
    if group:
        yield first, group
