"""History of the topics that bronze reads: ids, partitions and accepted losses.

A topic that was deleted and created again has a new id, and its offsets start at 0. Bronze calls it the next
generation of the topic, and separates its records by partition: it adds 100,000 for each generation.
So (topic, partition, offset) stays the key of a record, and the offset is Kafka's own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

PARTITIONS_APART = 100_000
"""Number that bronze adds to a partition for each generation of its topic."""

STARTED, LOST = "started", "lost"
Partition = tuple[str, int]


class TopicChange(NamedTuple):
    """A row of ops.topics without number and time; `end_offset` is None if the topic itself was deleted."""

    topic: str
    topic_id: str
    generation: int
    partition: int
    kind: str
    first_offset: int
    end_offset: int | None = None
    who: str | None = None


class BrokerTopic(NamedTuple):
    """A topic as the broker has it: its id, and by partition the first offset and the one after the last."""

    topic_id: str
    spans: Mapping[int, tuple[int, int]]


class Generation(NamedTuple):
    """A topic from its creation to its deletion: by partition, the first offset read, and lost offsets."""

    topic_id: str
    number: int
    starts: Mapping[int, int]
    lost: Mapping[int, tuple[tuple[int, int | None], ...]]


def to_changes(rows: Iterable[Mapping[str, Any]]) -> list[TopicChange]:
    """Rows of ops.topics, by the names of its columns, in their order."""
    ordered = sorted(rows, key=lambda row: int(row["sequence"]))
    return [TopicChange(*(row[name] for name in TopicChange._fields)) for row in ordered]


def known_id(topic_id: object) -> str:
    """A topic's id as text; empty for none, and for the zeros of a broker that gives none."""
    text = str(topic_id or "")
    return text if text.strip("0-") else ""


def bronze_partition(generation: int, partition: int) -> int:
    """The partition of a record in bronze."""
    return generation * PARTITIONS_APART + partition


def generations(changes: Iterable[TopicChange]) -> dict[str, dict[int, Generation]]:
    """By topic and number: its generations."""
    found: dict[str, dict[int, Generation]] = {}
    for change in changes:
        of_topic = found.setdefault(change.topic, {})
        known = of_topic.get(change.generation) or Generation(change.topic_id, change.generation, {}, {})
        starts, lost = dict(known.starts), dict(known.lost)
        if change.kind == STARTED:
            starts.setdefault(change.partition, change.first_offset)
        else:
            span = (change.first_offset, change.end_offset)
            lost[change.partition] = (*lost.get(change.partition, ()), span)
        of_topic[change.generation] = known._replace(starts=starts, lost=lost)
    return found


def current_generations(changes: Iterable[TopicChange]) -> dict[str, Generation]:
    """By topic: the generation that bronze reads."""
    return {topic: found[max(found)] for topic, found in generations(changes).items()}


def recoveries(changes: Iterable[TopicChange]) -> int:
    """Number of accepted losses. After each, ingest drops its checkpoint."""
    return sum(change.kind == LOST for change in changes)


def next_offsets(
    known: Mapping[str, Generation],
    held: Mapping[Partition, int],
    reached: Mapping[str, Mapping[str, int]],
) -> dict[str, dict[int, int]]:
    """By topic and partition: the offset that ingest reads next.

    Args:
        known: by topic, the generation that is read.
        held: by topic and partition in bronze, the offset after its last one.
        reached: by topic and partition, the next offset of the checkpoint; empty if it is not usable.
    """
    return {topic: _next_of(topic, generation, held, reached) for topic, generation in known.items()}


def _next_of(
    topic: str,
    generation: Generation,
    held: Mapping[Partition, int],
    reached: Mapping[str, Mapping[str, int]],
) -> dict[int, int]:
    ends = {
        partition: max((end or 0 for _, end in generation.lost.get(partition, ())), default=0)
        for partition in generation.starts
    }
    return {
        partition: max(
            start,
            ends[partition],
            held.get((topic, bronze_partition(generation.number, partition)), 0),
            reached.get(topic, {}).get(str(partition), 0),
        )
        for partition, start in generation.starts.items()
    }
