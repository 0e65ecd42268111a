"""The state of topics in tables and broker, without a JVM, for `status`, `audit` and `recover`."""

from dataclasses import dataclass
from functools import cached_property

from bronze.checkpoint import Checkpoint
from bronze.kafka import broker_topics
from bronze.topics.topic_check import Trouble, find_trouble
from bronze.topics.topic_history import (
    STARTED,
    BrokerTopic,
    Generation,
    Partition,
    TopicChange,
    generations,
    next_offsets,
    recoveries,
    to_changes,
)
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.contracts.ops import TOPICS
from lakehouse.settings import Settings
from millrace.audit.bronze_offsets import held_offsets
from millrace.tables.table_scan import rows_of, scan


@dataclass(frozen=True)
class TopicState:
    """Bronze, its history of topics, and the broker at one moment.

    Args:
        topics: subscribed topics.
        history: rows of ops.topics in order, and generated rows for topics that it lacks.
        held: by topic and partition of bronze: first offset, last offset + 1, number of records.
        reached: by topic and partition, the next offset in ingest's checkpoint; empty if it is not usable.
        broker: topics of the broker.
    """

    topics: tuple[str, ...]
    history: list[TopicChange]
    held: dict[Partition, tuple[int, int, int]]
    reached: dict[str, dict[str, int]]
    broker: dict[str, BrokerTopic]

    @cached_property
    def generations(self) -> dict[str, dict[int, Generation]]:
        """Generations by topic and number."""
        return generations(self.history)

    @cached_property
    def known(self) -> dict[str, Generation]:
        """The generation that bronze reads, by subscribed topic."""
        return {topic: found[max(found)] for topic, found in self.generations.items() if topic in self.topics}

    @cached_property
    def upcoming(self) -> dict[str, dict[int, int]]:
        """The offset that ingest reads next, by topic and partition."""
        ends = {partition: end for partition, (_, end, _) in self.held.items()}
        return next_offsets(self.known, ends, self.reached)

    def number_of(self, topic: str) -> int:
        """The number of the generation of a topic that bronze reads, or will read."""
        known = self.known.get(topic)
        return known.number if known else 0

    @property
    def lag(self) -> dict[str, int]:
        """Records not in bronze yet, by `topic/partition`; approximate, since transactions leave gaps."""
        return {
            f"{topic}/{partition}": max(end - max(self._next_of(topic, partition), first), 0)
            for topic, found in sorted(self.broker.items())
            for partition, (first, end) in sorted(found.spans.items())
        }

    def _next_of(self, topic: str, partition: int) -> int:
        """The offset to read next; 0 for a topic that was recreated and is not recovered."""
        known, broker = self.known.get(topic), self.broker[topic]
        is_other = known is not None and known.topic_id and known.topic_id != broker.topic_id
        return 0 if is_other else self.upcoming.get(topic, {}).get(partition, 0)

    @property
    def troubles(self) -> list[Trouble]:
        """The problems that prevent ingest from reading topics further."""
        return find_trouble(self.known, self.broker, self.upcoming)


Reached = dict[str, dict[str, int]]
"""By topic and partition, the next offset in ingest's checkpoint."""


def read_topics(settings: Settings, reached: Reached | None = None) -> TopicState:
    """Read tables, checkpoint and broker.

    Args:
        settings: the settings in force.
        reached: read before; None: read now.

    Raises:
        MillraceError: if no broker answers.
    """
    changes, held = read_changes(settings), held_offsets(settings)
    reached = read_reached(settings) if reached is None else reached
    known = {change.topic for change in changes}
    changes += _first_changes(held, set(settings.topics) - known)
    return TopicState(settings.topics, changes, held, reached, broker_topics(settings))


def read_reached(settings: Settings) -> Reached:
    """The offsets in ingest's checkpoint; empty if it is not usable, or the tables are in a catalog."""
    if settings.catalog:
        return {}
    from millrace.tables import table_reader  # needs polars, which a Databricks workspace lacks

    checkpoint = Checkpoint.of_ingest(settings)
    commit = table_reader.last_commit(settings, KAFKA_RECORDS.name, "ingest")
    accepted = recoveries(read_changes(settings))
    return checkpoint.reached if checkpoint.is_usable(commit, accepted) else {}


def read_changes(settings: Settings) -> list[TopicChange]:
    """The rows of ops.topics, in order."""
    rows = scan(settings, TOPICS.name)
    if rows is None:
        return []
    return to_changes(rows_of(rows.select("sequence", *TopicChange._fields)))


def _first_changes(held: dict[Partition, tuple[int, int, int]], topics: set[str]) -> list[TopicChange]:
    """Generated rows of ops.topics for topics that it lacks (older homes), from the offsets in bronze."""
    return [
        TopicChange(topic, "", 0, partition, STARTED, first)
        for (topic, partition), (first, _, _) in sorted(held.items())
        if topic in topics
    ]
