"""Searches the records of a Kafka topic: keys, values and headers."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from privacy.search.matching.matcher import Matcher
from privacy.search.matching.values import find_in_values
from privacy.search.places import Place

_BATCH = 1000  # records


class Record(NamedTuple):
    """A record of Kafka; a header is its name and its value."""

    partition: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def search_records(matcher: Matcher, topic: str, records: Iterable[Record]) -> tuple[int, list[Place]]:
    """Number of the records, and where identifiers are in them."""
    found: Counter[tuple[str, str, str]] = Counter()
    count = 0
    for batch in _batches(records):
        count += len(batch)
        named = list(chain.from_iterable(map(_values, batch)))
        for number, match in find_in_values(matcher, (value for _, _, value in named)):
            partition, part, _ = named[number]
            found[f"{topic}/{partition}", part, match.encoding] += match.is_whole
    return count, [Place(*place, times) for place, times in sorted((+found).items())]


def _values(record: Record) -> Iterator[tuple[int, str, bytes]]:
    yield record.partition, "key", record.key or b""
    yield record.partition, "value", record.value or b""
    for name, value in record.headers:
        yield record.partition, "header", name.encode()
        yield record.partition, "header", value or b""


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    for record in records:
        batch.append(record)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
