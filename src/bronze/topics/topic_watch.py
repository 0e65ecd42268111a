"""Watches topics for ingest: a topic with another id or with deleted records is not read."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import functions as F

from bronze.checkpoint import Checkpoint
from bronze.kafka import TopicIds, broker_topics
from bronze.topics.topic_check import Trouble, find_trouble, new_partitions, require_readable
from bronze.topics.topic_history import (
    PARTITIONS_APART,
    BrokerTopic,
    Generation,
    Partition,
    current_generations,
    next_offsets,
    recoveries,
)
from bronze.topics.topic_table import TopicTable
from lakehouse.contracts.bronze import KAFKA_RECORDS
from lakehouse.run.job import JobContext

INGEST = "ingest"
"""Name of the job that writes bronze, in the metadata of its commits."""


@dataclass(frozen=True)
class Held:
    """Offsets in bronze, by topic and partition: the first, and the one after the last."""

    spans: Mapping[Partition, tuple[int, int]]

    @property
    def ends(self) -> dict[Partition, int]:
        """The offsets after the last."""
        return {partition: end for partition, (_, end) in self.spans.items()}

    def firsts(self, topic: str) -> dict[int, int]:
        """By partition of a topic: the first offset."""
        return {number: first for (name, number), (first, _) in self.spans.items() if name == topic}


class TopicWatch:
    """Compares the topics in ops.topics with those of the broker.

    Args:
        run: the context of ingest or of a recovery.
        ids: reads the topics' ids from the broker.
    """

    def __init__(self, run: JobContext, ids: TopicIds) -> None:
        self._run = run
        self._ids = ids
        self.table = TopicTable(run.lake)
        self._checkpoint = Checkpoint.of_ingest(run.settings)
        commits = (each for _, each in run.lake.commits(KAFKA_RECORDS.name) if each.get("job") == INGEST)
        self.commit: Mapping[str, Any] = next(commits, {})
        self._seen: dict[str, tuple[str, int]] = {}

    @property
    def known(self) -> dict[str, Generation]:
        """The subscribed topics as bronze knows them."""
        topics = self._run.settings.topics
        return {name: it for name, it in current_generations(self.table.history).items() if name in topics}

    @property
    def has_other_topics(self) -> bool:
        """Whether bronze has read topics that are not subscribed any more."""
        return not {change.topic for change in self.table.history} <= set(self._run.settings.topics)

    @property
    def recoveries(self) -> int:
        """Number of accepted losses."""
        return recoveries(self.table.history)

    def troubles(self) -> list[Trouble]:
        """Troubles of the topics. Bronze is queried only if the offsets of the checkpoint show one."""
        broker, known, reached = broker_topics(self._run.settings), self.known, self.reached
        if self.is_checkpoint_usable and not find_trouble(known, broker, next_offsets(known, {}, reached)):
            return []
        return find_trouble(known, broker, next_offsets(known, self.held().ends, reached))

    @property
    def is_checkpoint_usable(self) -> bool:
        """Whether the checkpoint has the offsets to resume from; else those of bronze are used.

        Spark resumes from no checkpoint with offsets of a topic that is not subscribed any more. It reads a
        topic that the checkpoint lacks from its beginning, though bronze may have records of it.
        """
        is_new = not self.commit and self._was_empty
        if not self._checkpoint.is_usable(self.commit, self.recoveries, is_new):
            return False
        reached = self._checkpoint.reached.keys()
        if not reached:
            return True
        known = self.known.keys() & broker_topics(self._run.settings).keys()
        return known <= reached <= set(self._run.settings.topics)

    def start(self) -> dict[str, dict[int, int]]:
        """Check all topics before they are read, and record new ones.

        Returns:
            By topic and partition, the offset to be read next.

        Raises:
            MillraceError: if a topic was deleted, or created again, or lost records before they were read.
        """
        self._check()
        held = {} if self.is_checkpoint_usable else self.held().ends
        return next_offsets(self.known, held, self.reached)

    def before_batch(self) -> None:
        """Check that the topics are still the same before a micro-batch is read.

        Raises:
            MillraceError: if a changed topic can't be read without a loss.
        """
        if self._ids.read() != self._seen:
            self._check()

    def held(self) -> Held:
        """The offsets in bronze."""
        if self._run.lake.version(KAFKA_RECORDS.name) == 0:  # the table is new, and has no rows
            return Held({})
        records = self._run.lake.read(KAFKA_RECORDS.name)
        spans = records.groupBy("topic", "partition").agg(
            F.min("offset").alias("first"), (F.max("offset") + 1).alias("end")
        )
        return Held({(row.topic, row.partition): (row.first, row.end) for row in spans.collect()})

    def shifts(self) -> dict[str, int]:
        """By topic that was created again, the number that is added to its partitions in bronze."""
        return {
            topic: generation.number * PARTITIONS_APART
            for topic, generation in self.known.items()
            if generation.number
        }

    @cached_property
    def _was_empty(self) -> bool:
        """Whether bronze had no rows when this was first asked, before ingest's first micro-batch."""
        return not self.held().spans

    @property
    def reached(self) -> dict[str, dict[str, int]]:
        """By topic and partition, the next offset of the checkpoint; empty if it is not usable."""
        return self._checkpoint.reached if self.is_checkpoint_usable else {}

    def record_unknown(self, broker: Mapping[str, BrokerTopic]) -> None:
        """Record topics that are read for the first time, or were read before ids were recorded."""
        unknown = {topic: found for topic, found in broker.items() if topic not in self.known}
        if unknown:
            self._record_new(unknown, self.held())

    def _check(self) -> None:
        broker = broker_topics(self._run.settings)
        self.record_unknown(broker)
        require_readable(self.troubles())
        self._record_new(broker, Held({}))
        self._seen = {topic: (found.topic_id, len(found.spans)) for topic, found in broker.items()}

    def _record_new(self, broker: Mapping[str, BrokerTopic], held: Held) -> None:
        known = self.known
        added = {
            topic: new_partitions(topic, known.get(topic), found, held.firsts(topic))
            for topic, found in broker.items()
        }
        self.table.append([change for changes in added.values() for change in changes])
        for topic, changes in added.items():
            starts = [(change.partition, change.first_offset) for change in changes]
            _announce(self._run, topic, topic in known, starts)


def _announce(run: JobContext, topic: str, is_known: bool, starts: list[tuple[int, int]]) -> None:
    """Log partitions that were added, and first offsets that are not 0."""
    if is_known and starts:
        numbers = ", ".join(str(partition) for partition, _ in starts)
        run.log(f"the topic {topic} has new partitions: {numbers}; they are read from their beginning")
    for partition, first in starts:
        if first:
            run.log(f"{topic}/{partition} begins at offset {first:,}: Kafka has deleted what was before")
