"""Forwards messages from the log to Kafka, in order."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from intake.message_log import Delivered, Logged, MessageLog
from lakehouse.errors import MillraceError

_LOG = logging.getLogger(__name__)
_MOST = 5000  # messages sent before Kafka's acknowledgements are waited for
_IDLE_SECONDS = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds between two tries while no broker answers
_ACK_SECONDS = 30.0

MakeProducer = Callable[[], Producer]

_NAMES = {
    "security_protocol": "security.protocol",
    "ssl_cafile": "ssl.ca.location",
    "sasl_mechanism": "sasl.mechanism",
    "sasl_plain_username": "sasl.username",
    "sasl_plain_password": "sasl.password",
}
"""What librdkafka calls the options of kafka-python."""


def make_producer(bootstrap: str, login: Mapping[str, Any]) -> Producer:
    """A producer whose messages are acknowledged by all in-sync replicas, each once and in order.

    Args:
        bootstrap: Kafka, as host:port.
        login: options of its login, as kafka-python names them.
    """
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.max.bytes": 16 << 20,
            "delivery.timeout.ms": int(_ACK_SECONDS * 1000),
            "log_level": 2,  # critical: errors come as exceptions
            **{_NAMES[name]: value for name, value in login.items()},
        }
    )


class Forwarder:
    """A thread that forwards messages.

    After a crash, messages that Kafka has and the log still has are sent again: their UID is the same, so
    that silver drops the copies.

    Args:
        log: the messages.
        topic: the topic of events.
        make: connects to Kafka; called again after an error.
    """

    def __init__(self, log: MessageLog, topic: str, make: MakeProducer) -> None:
        self._log = log
        self._topic = topic
        self._make = make
        self._stop = threading.Event()
        self._caught_up = threading.Event()
        self.last_error: str | None = None
        self.forwarded = 0
        self._thread = threading.Thread(target=self._run, name="forwarder", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @property
    def has_caught_up(self) -> bool:
        """Whether what was in the log at the start is in Kafka."""
        return self._caught_up.is_set()

    def stop(self, seconds: float) -> None:
        """Forward what is there for so long, then end."""
        until = time.monotonic() + seconds
        while self._log.waiting and self.last_error is None and time.monotonic() < until:
            self._stop.wait(0.05)
        self._stop.set()
        self._thread.join(_ACK_SECONDS)

    def _run(self) -> None:
        producer: Producer | None = None
        reached, pause = 0, _FIRST_PAUSE
        while not self._stop.is_set():
            if reached >= self._log.left_by_earlier:
                self._caught_up.set()
            messages = self._log.pending(reached, _MOST)
            if not messages:
                self._log.wait_for_messages(_IDLE_SECONDS)
                continue
            try:
                producer = producer or self._make()
                delivered = self._send(producer, messages)
            except (KafkaException, BufferError, MillraceError, ValueError) as error:
                self.last_error = f"{type(error).__name__}: {error}"
                _LOG.warning("Kafka took nothing, trying again in %.1f s: %s", pause, self.last_error)
                producer = None  # what it still holds ends with it: all of it is sent again
                self._stop.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self.last_error, pause = None, _FIRST_PAUSE
                reached = messages[-1].sequence
                self.forwarded += len(messages)
                self._log.forget(reached, delivered)

    def _send(self, producer: Producer, messages: Sequence[Logged]) -> list[Delivered]:
        failed: list[KafkaError] = []
        delivered: list[Delivered] = []

        def report(receipt: str, error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failed.append(error)
            else:
                delivered.append(Delivered(receipt, message.partition() or 0, message.offset() or 0))

        for each in messages:
            report_this = partial(report, each.receipt)
            producer.produce(self._topic, value=each.value, key=each.key, on_delivery=report_this)
        missing = producer.flush(_ACK_SECONDS)
        if failed or missing:
            producer.purge()
            raise KafkaException(failed[0] if failed else KafkaError(KafkaError._MSG_TIMED_OUT))  # noqa: SLF001
        return delivered
