"""Places where identifiers were found, and what could not be searched."""

from collections import Counter
from typing import NamedTuple

Counts = Counter[tuple[str, str]]
"""Matches by part of a file and encoding."""

RawCounts = Counter[tuple[str, str, bool]]
"""Matches in the bytes of a file by part, encoding, and whether each stands alone."""


class Place(NamedTuple):
    """Where identifiers are.

    Args:
        file: path from the home; of a topic, `topic/partition`.
        part: column, table or the like inside of the file; empty for its bytes.
        encoding: text, json, url, cut (the beginning, in statistics), utf-16, base64, hex.
        times: number of matches.
    """

    file: str
    part: str
    encoding: str
    times: int


class Unread(NamedTuple):
    """A file or an identity that could not be searched, or only in part, and why."""

    file: str
    reason: str
