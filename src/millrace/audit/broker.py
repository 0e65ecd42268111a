"""Audits bronze against the broker: missing offsets, and accepted losses."""

from collections.abc import Iterator

from kafka.structs import TopicPartition

from bronze.kafka import count_records
from bronze.topics.topic_check import FROM_BEGINNING
from bronze.topics.topic_history import Generation, bronze_partition
from lakehouse.settings import Settings
from millrace.audit.bronze_offsets import absent_offsets
from millrace.audit.finding import Finding
from millrace.tables.topic_state import TopicState


def against_broker(settings: Settings, topics: TopicState) -> Iterator[Finding]:
    """Compare each partition, and report each loss, accepted or not."""
    troubles = topics.troubles
    yield from (
        Finding(f"topic {each.topic}", f"{each.problem}: {each.next_step}", False) for each in troubles
    )
    others = {each.topic for each in troubles if each.option in (FROM_BEGINNING, None)}
    for topic, found in sorted(topics.broker.items()):
        if topic not in others:  # a recreated or missing topic can't be compared
            for partition, span in sorted(found.spans.items()):
                yield _of_partition(settings, topics, TopicPartition(topic, partition), span)
    for topic in topics.topics:
        for generation in topics.generations.get(topic, {}).values():
            if generation != topics.known[topic]:
                yield from _of_earlier(topics, topic, generation)


def _of_partition(
    settings: Settings, topics: TopicState, place: TopicPartition, span: tuple[int, int]
) -> Finding:
    """Compare a partition. Since transactions leave gaps in offsets, missing ones are looked up in Kafka."""
    first, end = span
    stored = bronze_partition(topics.number_of(place.topic), place.partition)
    low, after, rows = topics.held.get((place.topic, stored), (first, first, 0))
    absent = absent_offsets(settings, place.topic, stored)
    lacking = [(max(begin, first), stop) for begin, stop in [(first, low), *absent] if stop > first]
    lost = sum(count_records(settings, place, *span) for span in lacking if span[0] < span[1])
    waiting = end - max(after, topics.upcoming.get(place.topic, {}).get(place.partition, 0))
    detail = f"{rows:,} in bronze, {max(waiting, 0):,} not ingested yet, {lost:,} lost"
    for begin, stop in _lost(topics.known.get(place.topic), place.partition):
        detail += f"; offsets {begin:,} to {(stop or 0) - 1:,} lost in Kafka, which is accepted"
    return Finding(f"{place.topic}/{place.partition}", detail, not lost)


def _of_earlier(topics: TopicState, topic: str, generation: Generation) -> Iterator[Finding]:
    """Report an earlier generation of a topic: its rows in bronze, and the ranges of its losses."""
    for partition in sorted(generation.starts):
        _, _, rows = topics.held.get((topic, bronze_partition(generation.number, partition)), (0, 0, 0))
        detail = f"{rows:,} in bronze"
        for begin, stop in _lost(generation, partition):
            span = f"what it had from offset {begin:,} on" if stop is None else f"{begin:,} to {stop - 1:,}"
            detail += f"; {span} lost in Kafka, which is accepted"
        yield Finding(f"{topic}/{partition}, generation {generation.number}", detail, True)


def _lost(generation: Generation | None, partition: int) -> tuple[tuple[int, int | None], ...]:
    return generation.lost.get(partition, ()) if generation else ()
