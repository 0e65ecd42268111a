"""Recovers a topic: accepts a loss in Kafka and records it, so that ingest resumes."""

from bronze.kafka import TopicIds, broker_topics
from bronze.topics.topic_check import (
    ACCEPT_LOSS,
    Trouble,
    accepted_gaps,
    next_generation,
    require_recoverable,
)
from bronze.topics.topic_history import STARTED, TopicChange, next_offsets
from bronze.topics.topic_watch import TopicWatch
from lakehouse.entry_point import Job
from lakehouse.run.job import JobContext


def recover_job(topic: str, option: str, who: str) -> Job:
    """The job that records an accepted loss.

    Args:
        topic: name of the topic.
        option: `--accept-loss` or `--from-beginning`; if it is empty, the error names the right one.
        who: name of the person who accepts the loss.
    """
    return Job("recover", lambda run: _recover(run, topic, option, who))


def _recover(run: JobContext, topic: str, option: str, who: str) -> None:
    with TopicIds(run.settings) as ids, run.slot:
        watch = TopicWatch(run, ids)
        watch.record_unknown(broker_topics(run.settings))
        trouble = require_recoverable(run.settings.topics, watch.troubles(), topic, option)
        if trouble is None:
            run.log(f"nothing is to be recovered: ingest can read {topic} on")
            return
        changes = _changes(run, watch, trouble, who)
        watch.table.append(changes)
    for change in changes:
        run.log(describe(change))


def _changes(run: JobContext, watch: TopicWatch, trouble: Trouble, who: str) -> list[TopicChange]:
    topic = trouble.topic
    broker, known = broker_topics(run.settings)[topic], watch.known[topic]
    if trouble.option == ACCEPT_LOSS:
        return accepted_gaps(trouble, known, broker, who)
    upcoming = next_offsets({topic: known}, watch.held().ends, watch.reached)[topic]
    return next_generation(topic, known, broker, upcoming, who)


def describe(change: TopicChange) -> str:
    """A row of ops.topics as a line of text."""
    place = f"{change.topic}/{change.partition}"
    if change.kind == STARTED:
        return f"{place} is read from offset {change.first_offset:,} on"
    if change.end_offset is None:
        return f"{place} of the topic before: what it had from offset {change.first_offset:,} on is lost"
    return f"{place} has lost offsets {change.first_offset:,} to {change.end_offset - 1:,}"
