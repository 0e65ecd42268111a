"""Finds identifiers in streams of bytes, in all encodings in one pass, by Aho-Corasick."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick

from privacy.search.matching.escapes import Decoded, escapes_of, kind_of
from privacy.search.matching.neighbours import stands_alone
from privacy.search.matching.patterns import patterns_of

_CONTEXT = 64  # bytes kept before a window, for what stands beside a match
_LONGEST_ESCAPE = 12  # bytes per byte, as two \u of a character
_DEPTH = 3  # of JSON in JSON


class Match(NamedTuple):
    """An identifier in a stream.

    Args:
        start: its place.
        encoding: how it is written.
        is_whole: whether it stands alone, and is no part of a longer word.
    """

    start: int
    encoding: str
    is_whole: bool


class Matcher:
    """Search for some identifiers.

    Args:
        identifiers: texts, none of them empty.
    """

    def __init__(self, identifiers: Iterable[str]) -> None:
        identifiers = list(identifiers)
        self._escapes = escapes_of(identifiers)
        self._patterns = patterns_of(identifiers)
        self._automaton = BytesAhoCorasick([pattern.content for pattern in self._patterns])
        self._overlap = _CONTEXT + _LONGEST_ESCAPE * max(len(each.content) for each in self._patterns)

    def find(self, chunks: Iterable[bytes]) -> Iterator[Match]:
        """Matches in a stream that comes in chunks; each once, also over a border of chunks.

        A window's last bytes are searched again with the next chunk, so memory is that of two chunks.
        """
        window, base, searched = b"", 0, 0
        for chunk in chunks:
            window += chunk
            upto = len(window) - self._overlap
            if upto > searched:
                yield from self._shifted(window, searched, upto, base)
                kept = max(upto - _CONTEXT, 0)
                window, base, searched = window[kept:], base + kept, upto - kept
        yield from self._shifted(window, searched, len(window), base)

    def _shifted(self, window: bytes, first: int, end: int, base: int) -> Iterator[Match]:
        for match in self.find_in(window):
            if first <= match.start < end:
                yield match._replace(start=match.start + base)

    def find_in(self, buffer: bytes) -> list[Match]:
        """Matches in a buffer, in order."""
        found = {
            (start, end): Match(start, encoding, whole) for start, end, encoding, whole in self._raw(buffer)
        }
        has_parts = not all(match.is_whole for match in found.values())
        for start, end in self._decoded(buffer) if has_parts or self._escapes.search(buffer) else ():
            known = found.get((start, end))
            encoding = known.encoding if known else kind_of(buffer[start:end])
            found[start, end] = Match(start, encoding, True)
        return list(_longest(found))

    def _raw(self, buffer: bytes) -> Iterator[tuple[int, int, str, bool]]:
        for number, start, end in self._automaton.find_matches_as_indexes(buffer, overlapping=True):
            pattern = self._patterns[number]
            yield start, end, pattern.encoding, stands_alone(buffer, start, end, pattern)

    def _decoded(self, buffer: bytes) -> Iterator[tuple[int, int]]:
        """Whole matches once escapes are decoded, by their places in the buffer."""
        layers: list[Decoded] = []
        for _ in range(_DEPTH):
            layers.append(Decoded(buffer))
            if layers[-1].content == buffer:
                return
            buffer = layers[-1].content
            for start, end, _, is_whole in self._raw(buffer):
                if is_whole:
                    yield _outer(layers, start), _outer(layers, end)


def _longest(found: dict[tuple[int, int], Match]) -> Iterator[Match]:
    """Matches in order, without those inside of another: a text that is cut is in the whole one."""
    covered = 0
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if end > covered:
            yield found[start, end]
            covered = end


def _outer(layers: list[Decoded], place: int) -> int:
    for layer in reversed(layers):
        place = layer.place(place)
    return place
