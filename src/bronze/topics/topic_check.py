"""Checks whether bronze can read its topics without a loss."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from bronze.topics.topic_history import LOST, STARTED, BrokerTopic, Generation, TopicChange
from lakehouse.errors import MillraceError

ACCEPT_LOSS, FROM_BEGINNING = "--accept-loss", "--from-beginning"


class Gap(NamedTuple):
    """Offsets of a partition that Kafka deleted before bronze read them; the end is excluded."""

    partition: int
    first: int
    end: int


class Trouble(NamedTuple):
    """Why bronze cannot read a topic any further.

    Args:
        topic: its name.
        problem: the problem, in a line.
        option: the option of `millrace recover` that resolves it; None if the topic does not exist.
        gaps: lost offsets, if they are known.
    """

    topic: str
    problem: str
    option: str | None
    gaps: tuple[Gap, ...] = ()

    @property
    def next_step(self) -> str:
        """What the user can do, in a line."""
        if self.option is None:
            return f"Create it again, then run `millrace recover {self.topic} {FROM_BEGINNING}`"
        if self.option == FROM_BEGINNING:
            return f"`millrace recover {self.topic} {FROM_BEGINNING}` reads the new one, beside what is there"
        return (
            f"`millrace recover {self.topic} {ACCEPT_LOSS}` goes on without them, and records which they are"
        )


def find_trouble(
    known: Mapping[str, Generation],
    broker: Mapping[str, BrokerTopic],
    upcoming: Mapping[str, Mapping[int, int]],
) -> list[Trouble]:
    """By topic, why bronze cannot read it any further.

    Args:
        known: the topics as bronze knows them.
        broker: the topics as the broker has them; missing ones are left out.
        upcoming: by topic and partition, the next offset to read.
    """
    found = (
        _trouble_of(topic, known[topic], broker.get(topic), upcoming.get(topic, {}))
        for topic in sorted(known)
    )
    return [each for each in found if each]


def require_readable(troubles: Iterable[Trouble]) -> None:
    """Raise a MillraceError if there is any trouble."""
    found = list(troubles)
    if found:
        steps = dict.fromkeys(each.next_step for each in found)
        raise MillraceError("; ".join(each.problem for each in found), "; ".join(steps))


def require_recoverable(
    topics: Collection[str], troubles: Iterable[Trouble], topic: str, option: str
) -> Trouble | None:
    """The trouble of a topic that the option resolves; None if it has none.

    Raises:
        MillraceError: if ingest doesn't read the topic, or another option is needed.
    """
    if topic not in topics:
        raise MillraceError(f"ingest reads no topic {topic}", f"Its topics are {', '.join(topics)}")
    trouble = next((each for each in troubles if each.topic == topic), None)
    if trouble and option != trouble.option:
        raise MillraceError(trouble.problem, trouble.next_step)
    return trouble


def new_partitions(
    topic: str, known: Generation | None, broker: BrokerTopic, held: Mapping[int, int]
) -> list[TopicChange]:
    """The rows of ops.topics for partitions that bronze has not read yet.

    Partitions of a new topic are read from their first offset, partitions that were added later from 0.

    Args:
        topic: its name.
        known: the topic as bronze knows it; None if it doesn't.
        broker: the topic as the broker has it.
        held: by partition, the first offset in bronze, for a topic that was read before ids were recorded.
    """
    number = known.number if known else 0
    starts = {
        partition: 0 if known else min(held.get(partition, first), first)
        for partition, (first, _) in sorted(broker.spans.items())
        if known is None or partition not in known.starts
    }
    return [
        TopicChange(topic, broker.topic_id, number, partition, STARTED, start)
        for partition, start in starts.items()
    ]


def accepted_gaps(trouble: Trouble, known: Generation, broker: BrokerTopic, who: str) -> list[TopicChange]:
    """Rows of ops.topics for offsets that Kafka deleted before they were read."""
    changes = []
    for gap in trouble.gaps:
        of_partition = (trouble.topic, broker.topic_id, known.number, gap.partition)
        if gap.partition not in known.starts:  # it was added, and has lost its beginning
            changes.append(TopicChange(*of_partition, STARTED, 0))
        changes.append(TopicChange(*of_partition, LOST, gap.first, gap.end, who))
    return changes


def next_generation(
    topic: str, known: Generation, broker: BrokerTopic, upcoming: dict[int, int], who: str
) -> list[TopicChange]:
    """Rows of ops.topics for a topic that was created again: the loss of the old one, and the new one."""
    old = [
        TopicChange(topic, known.topic_id, known.number, partition, LOST, at, None, who)
        for partition, at in sorted(upcoming.items())
    ]
    new = []
    for partition, (first, _) in sorted(broker.spans.items()):
        of_partition = (topic, broker.topic_id, known.number + 1, partition)
        new.append(TopicChange(*of_partition, STARTED, 0))
        if first:  # it has lost its beginning already
            new.append(TopicChange(*of_partition, LOST, 0, first, who))
    return [*old, *new]


def _trouble_of(
    topic: str, known: Generation, broker: BrokerTopic | None, upcoming: Mapping[int, int]
) -> Trouble | None:
    if broker is None:
        return Trouble(topic, f"the topic {topic}, which bronze has read, is no longer in Kafka", None)
    if known.topic_id and broker.topic_id and known.topic_id != broker.topic_id:
        problem = f"the topic {topic} was deleted and made again: it is another than the one bronze has read"
        return Trouble(topic, problem, FROM_BEGINNING)
    behind = [
        f"{topic}/{partition} ends at offset {broker.spans.get(partition, (0, 0))[1]:,}, bronze is at {at:,}"
        for partition, at in sorted(upcoming.items())
        if at > broker.spans.get(partition, (0, 0))[1]
    ]
    if behind:
        return Trouble(
            topic, f"the topic is another than the one bronze has read: {behind[0]}", FROM_BEGINNING
        )
    return _gap_trouble(topic, broker, upcoming)


def _gap_trouble(topic: str, broker: BrokerTopic, upcoming: Mapping[int, int]) -> Trouble | None:
    gaps = tuple(
        Gap(partition, upcoming.get(partition, 0), first)
        for partition, (first, _) in sorted(broker.spans.items())
        if upcoming.get(partition, 0) < first
    )
    if not gaps:
        return None
    shown = ", ".join(f"{topic}/{gap.partition} {gap.first:,} to {gap.end - 1:,}" for gap in gaps)
    problem = f"Kafka has deleted records before bronze read them, offsets {shown}"
    return Trouble(topic, problem, ACCEPT_LOSS, gaps)
