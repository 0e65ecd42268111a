"""Kafka producers of the collector, and the headers of their records."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, Producer

_ACK_SECONDS = 30
_DIRECT_SECONDS = 10
"""Seconds to wait for Kafka: less than the 15 s for which clients wait for a response."""

_NAMES = {
    "security_protocol": "security.protocol",
    "ssl_cafile": "ssl.ca.location",
    "ssl_certfile": "ssl.certificate.location",
    "ssl_keyfile": "ssl.key.location",
    "sasl_mechanism": "sasl.mechanism",
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
}
"""By option of kafka-python, its name in librdkafka."""

_BATCH = 1_000_000
"""Bytes of a batch of records. Kafka refuses a batch as a whole if it is larger than the topic's limit."""
_SMALL_BATCH = 64 << 10
"""The same where the topic's limit is not known: less than any usual one."""

_DURABLE = {"acks": "all", "enable.idempotence": True, "delivery.timeout.ms": _ACK_SECONDS * 1000}
_DIRECT = {
    **_DURABLE,
    "delivery.timeout.ms": _DIRECT_SECONDS * 1000,
    "queue.buffering.max.kbytes": 32 << 10,
    "batch.size": _SMALL_BATCH,
}
_TRANSACTION_SECONDS = 15 * 60  # Kafka's maximum by default
_TRANSACTIONS = {"acks": "all", "transaction.timeout.ms": _TRANSACTION_SECONDS * 1000, "linger.ms": 20}
_ONCE = {
    "acks": 1,
    "retries": 0,
    "queue.buffering.max.kbytes": 32 << 10,
    "message.timeout.ms": 5000,
    "batch.size": _SMALL_BATCH,
}

Headers = list[tuple[str, str | bytes | None]]


def durable_producer(bootstrap: str, login: Mapping[str, Any], largest: int) -> Producer:
    """A producer whose messages are acknowledged by all in-sync replicas, each once and in order.

    Args:
        bootstrap: Kafka, as host:port.
        login: authentication options, named as in kafka-python.
        largest: maximum bytes of a record of the topic.
    """
    return _producer(bootstrap, login, {**_DURABLE, "batch.size": min(_BATCH, largest)})


def direct_producer(bootstrap: str, login: Mapping[str, Any]) -> Producer:
    """The same for requests that wait for Kafka, with bounded memory and a shorter timeout."""
    return _producer(bootstrap, login, _DIRECT)


def once_producer(bootstrap: str, login: Mapping[str, Any]) -> Producer:
    """A producer that sends each message once, without retries."""
    return _producer(bootstrap, login, _ONCE)


def transactional_producer(bootstrap: str, login: Mapping[str, Any], transactional_id: str) -> Producer:
    """A producer of transactions, which last 15 minutes at most.

    Args:
        bootstrap: Kafka, as host:port.
        login: authentication options, named as in kafka-python.
        transactional_id: an earlier producer with this id is fenced off.
    """
    return _producer(bootstrap, login, {**_TRANSACTIONS, "transactional.id": transactional_id})


def group_consumer(bootstrap: str, login: Mapping[str, Any], group: str) -> Consumer:
    """A consumer that reads and commits the positions of a group, and reports the end of a partition."""
    options = {"group.id": group, "enable.auto.commit": False, "enable.partition.eof": True, "log_level": 2}
    return Consumer({"bootstrap.servers": bootstrap, **options, **_in_librdkafka(login)})


def event_headers(source: str, node: str) -> Headers:
    """Headers of an event: its source, and the node that received it."""
    return [("source", source), ("node", node)]


def promise_headers(source: str, node: str, promise: str) -> Headers:
    """Headers of a promise: the source sends no more events before this RFC 3339 time, or `end`."""
    return [("source", f"{source}@{node}"), ("promise", promise)]


def _producer(bootstrap: str, login: Mapping[str, Any], more: Mapping[str, Any]) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 5,
            "message.max.bytes": 16 << 20,
            "log_level": 2,  # critical only: errors are raised as exceptions
            **more,
            **_in_librdkafka(login),
        }
    )


def _in_librdkafka(login: Mapping[str, Any]) -> dict[str, Any]:
    return {_NAMES[name]: value for name, value in login.items()}
