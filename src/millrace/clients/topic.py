"""Creates the topic of events, if it does not exist, with settings that prevent data loss."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, KafkaTimeoutError, TopicAlreadyExistsError

from bronze.kafka_auth import PLAINTEXT, Login
from bronze.topics.topic_history import known_id
from lakehouse.errors import MillraceError

PARTITIONS = 2
"""Number of partitions: two, so that two cores read in parallel, and records arrive out of order."""

TOPIC_CONFIGS = {
    # Time stamps of the broker: old logs are neither deleted by retention nor refused as too old.
    "message.timestamp.type": "LogAppendTime",
    # Unlimited retention: bronze keeps all records, and `audit` compares it with the broker.
    "retention.ms": "-1",
    # Events may be large, and are not split.
    "max.message.bytes": str(10 << 20),
}

CONNECT_SECONDS = 8
"""Seconds for a broker's first answer."""

_USUAL_LIMIT = 1_048_588
"""Kafka's default of `max.message.bytes`, for topics whose setting we may not read."""

NEXT_STEP = "Start one with `millrace up --broker`, or check MILLRACE_KAFKA_BOOTSTRAP"

# The library warns on every retry; users get one MillraceError.
logging.getLogger("kafka").addHandler(logging.NullHandler())


class ReadyTopic(NamedTuple):
    """A topic that can be written to.

    Args:
        largest: maximum bytes of a record.
        topic_id: Kafka's id of the topic; None if Kafka has none.
    """

    largest: int
    topic_id: str | None


COMPACTED = {
    "cleanup.policy": "compact",
    # Bronze needs all changes, not only the last one of each key: they stay for at least so long.
    "min.compaction.lag.ms": str(7 * 24 * 3600 * 1000),
}
"""Settings of a topic that keeps the last record of each key forever, and all records for a week."""


def ensure_topic(
    bootstrap: str, topic: str, login: Login = PLAINTEXT, configs: Mapping[str, str] | None = None
) -> ReadyTopic:
    """Create the topic if it does not exist; an existing topic is not changed.

    Args:
        bootstrap: Kafka, as host:port.
        topic: name of the topic.
        login: options of the connection.
        configs: settings of a new topic, beyond `TOPIC_CONFIGS`.

    Raises:
        MillraceError: if no broker answers, or it refuses.
    """
    try:
        admin = KafkaAdminClient(
            bootstrap_servers=bootstrap,
            bootstrap_timeout_ms=CONNECT_SECONDS * 1000,
            request_timeout_ms=CONNECT_SECONDS * 1000,
            **login,
        )
    except (KafkaError, ValueError, OSError) as error:
        raise MillraceError(f"no Kafka broker answers at {bootstrap} ({_named(error)})", NEXT_STEP) from error
    try:
        if topic not in admin.list_topics():
            # The replication factor is the broker's default, which is 1 on a laptop.
            settings = {**TOPIC_CONFIGS, **(configs or {})}
            wanted = {"num_partitions": PARTITIONS, "replication_factor": -1, "configs": settings}
            _create(admin, topic, wanted)
        described = admin.describe_topics([topic])
        topic_id = known_id(described[0].get("topic_id")) if described else ""
        return ReadyTopic(_largest_record(admin, topic), topic_id or None)
    except (KafkaError, ValueError) as error:
        raise MillraceError(
            f"the topic {topic} can't be created at {bootstrap} ({_named(error)})",
            "Create it there, or set MILLRACE_EVENTS_TOPIC to one that exists",
        ) from error
    finally:
        admin.close()


def _create(admin: KafkaAdminClient, topic: str, wanted: dict[str, Any]) -> None:
    with suppress(TopicAlreadyExistsError):  # another client created it first
        admin.create_topics({topic: wanted}, wait_for_metadata=True)


def _largest_record(admin: KafkaAdminClient, topic: str) -> int:
    try:
        described = admin.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all"
        )
        return int(described["topic"][topic]["max.message.bytes"]["value"])
    except (KafkaError, LookupError, TypeError, ValueError):
        return _USUAL_LIMIT


def _named(error: Exception) -> str:
    return "no answer in time" if isinstance(error, KafkaTimeoutError) else type(error).__name__
