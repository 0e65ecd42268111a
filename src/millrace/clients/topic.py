"""The topic of events: made with the settings that keep it whole, if it is not there yet."""

import logging
from contextlib import suppress
from typing import Any, NamedTuple

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError, KafkaTimeoutError, TopicAlreadyExistsError

from bronze.kafka_auth import PLAINTEXT, Login
from bronze.topics.topic_history import known_id
from lakehouse.errors import MillraceError

PARTITIONS = 2
"""Two: a laptop's two cores read side by side, and order across partitions is as loose as it is in life."""

TOPIC_CONFIGS = {
    # The broker stamps: a log of ten years ago is not deleted by retention, nor refused as too old.
    "message.timestamp.type": "LogAppendTime",
    # Bronze keeps everything, and `audit` holds it against the broker: nothing expires under it.
    "retention.ms": "-1",
    # An event may be large, and goes whole.
    "max.message.bytes": str(10 << 20),
}

CONNECT_SECONDS = 8
"""How long a broker may take to answer the first time."""

_USUAL_LIMIT = 1_048_588
"""Kafka's own default for `max.message.bytes`, where we may not ask for the topic's."""

NEXT_STEP = "Start one with `millrace up --broker`, or check MILLRACE_KAFKA_BOOTSTRAP"

# The library warns on every retry; what a user needs to know comes as one MillraceError.
logging.getLogger("kafka").addHandler(logging.NullHandler())


class ReadyTopic(NamedTuple):
    """A topic that can be written to.

    Args:
        largest: how many bytes a record may have there.
        topic_id: Kafka's id of it; None if it gives none.
    """

    largest: int
    topic_id: str | None


def ensure_topic(bootstrap: str, topic: str, login: Login = PLAINTEXT) -> ReadyTopic:
    """Create the topic unless it exists; an existing one is left as it is.

    Args:
        bootstrap: Kafka, as host:port.
        topic: its name.
        login: how to talk to it.

    Raises:
        MillraceError: if no broker answers there, or it refuses.
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
            # Replication is the broker's default: 1 on a laptop, what its owner set elsewhere.
            wanted = {"num_partitions": PARTITIONS, "replication_factor": -1, "configs": TOPIC_CONFIGS}
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
    with suppress(TopicAlreadyExistsError):  # another client was quicker
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
