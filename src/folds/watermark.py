"""The watermark of producers that promise to send no event from before a time: the least promise counts.

A node of a producer is live from its first promise until a record that it has left. While any node is live,
only the promises move the watermark; while none is, event times and heartbeats do. Times are in
microseconds.
"""

import json
from bisect import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class RecordKey(NamedTuple):
    """The order in which records are applied: by commit of bronze, then by Kafka's timestamp.

    It depends only on the record in bronze, not on micro-batches.
    """

    ingested_at: int
    timestamp: int
    topic: str
    partition: int
    offset: int


class PromiseRecord(NamedTuple):
    """A record with the promise of a producer's node.

    Args:
        key: of the record.
        source: `producer@node`, or the producer alone.
        promised_at: the node sends no more events from before this time; None if it has left.
    """

    key: RecordKey
    source: str
    promised_at: int | None


def producer_of(source: str) -> str:
    """The name of a producer: the part of a source before its last `@`, or the whole source."""
    name, separator, node = source.rpartition("@")
    return name if separator else node


@dataclass(frozen=True)
class Producers:
    """The live nodes of producers.

    Args:
        promises: the greatest promise of each live `producer@node` since it joined.
    """

    promises: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str | None) -> "Producers":
        """Parse producers that `to_json` has written."""
        return cls(json.loads(text) if text else {})

    def to_json(self) -> str | None:
        """The promises as a JSON object, sorted by source; None if no producer is live."""
        return json.dumps(self.promises, sort_keys=True, ensure_ascii=False) if self.promises else None

    @property
    def least(self) -> int | None:
        """The least promise of all live producers; a producer's promise is the greatest of its nodes.

        None if no producer is live.
        """
        by_producer: dict[str, int] = {}
        for source, at in self.promises.items():
            name = producer_of(source)
            by_producer[name] = max(at, by_producer.get(name, at))
        return min(by_producer.values(), default=None)


class Liveness(NamedTuple):
    """When at least one producer was live.

    Args:
        at_first: whether one was live before the first record.
        switches: keys of the records that changed this, in order.
    """

    at_first: bool
    switches: tuple[RecordKey, ...] = ()

    @property
    def is_constant(self) -> bool:
        """Whether it never changed."""
        return not self.switches

    def is_live_at(self, key: tuple[int, int, str, int, int]) -> bool:
        """Whether a producer was live at the key of a record that is not one of `switches`."""
        return self.at_first != bool(bisect(self.switches, key) % 2)


class Fold(NamedTuple):
    """The result of applying promise records.

    Args:
        producers: the live ones after the records.
        watermark: the highest that the promises gave at any of the records; None if no producer was live.
        liveness: when at least one producer was live.
    """

    producers: Producers
    watermark: int | None
    liveness: Liveness


def fold_promises(producers: Producers, records: Iterable[PromiseRecord]) -> Fold:
    """Apply promise records in the order of their keys.

    A promise counts as at most the timestamp of its record, so a fast clock does not advance the watermark.
    An event at a promised time may still arrive, so the watermark is a microsecond before the least promise.

    Args:
        producers: the live ones before the records.
        records: with different keys, in any order.
    """
    live = dict(producers.promises)
    least: list[int | None] = []
    changes: list[RecordKey] = []
    for key, source, promised_at in sorted(records, key=lambda record: record.key):
        was_live = bool(live)
        if promised_at is None or source not in live:
            least.append(Producers(live).least)  # it only rises until a node joins or leaves
        if promised_at is None:
            live.pop(source, None)
        else:
            at = min(promised_at, key.timestamp)
            live[source] = max(at, live.get(source, at))
        if bool(live) != was_live:
            changes.append(key)
    after = Producers(live)
    reached = max((at for at in (*least, after.least) if at is not None), default=None)
    watermark = None if reached is None else reached - 1
    return Fold(after, watermark, Liveness(bool(producers.promises), tuple(changes)))
