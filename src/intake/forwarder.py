"""Forwards messages from the log to Kafka, in order."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from intake.log.entries import Delivered, Logged
from intake.log.message_log import MessageLog
from intake.producers import event_headers, promise_headers
from lakehouse.errors import MillraceError

_LOG = logging.getLogger(__name__)
_MOST = 5000  # messages that are sent before waiting for Kafka's acknowledgements
_IDLE_SECONDS = 0.5
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds between attempts while no broker answers
_ACK_SECONDS = 30.0

MakeProducer = Callable[[], Producer]


class Forwarder:
    """A thread that forwards messages to Kafka.

    After a crash, messages that Kafka has and the log still has are sent again with the same UID, so silver
    drops the copies. A promise is sent once Kafka has the messages before it.

    Args:
        log: log of the messages.
        topic: the topic of events.
        node: name of this collector, in Kafka's headers.
        make: connects to Kafka; called again after an error.

    Attributes:
        last_error: why nothing was forwarded at the last attempt; None if it was.
        forwarded: number of events that Kafka has taken.
    """

    def __init__(self, log: MessageLog, topic: str, node: str, make: MakeProducer) -> None:
        self._log = log
        self._topic = topic
        self._node = node
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
        """Whether Kafka has all messages that were in the log at the start."""
        return self._caught_up.is_set()

    def stop(self, seconds: float) -> None:
        """Forward the remaining messages for up to so many seconds, then stop."""
        until = time.monotonic() + seconds
        while self._log.totals.waiting and self.last_error is None and time.monotonic() < until:
            self._stop.wait(0.05)
        self._stop.set()
        self._thread.join(_ACK_SECONDS)

    def _run(self) -> None:
        producer: Producer | None = None
        reached, pause = 0, _FIRST_PAUSE
        while not self._stop.is_set():
            if reached >= self._log.left_by_earlier:
                self._caught_up.set()
            try:
                producer = producer or self._make()
                reached = self._forward(producer, reached)
                self.last_error, pause = None, _FIRST_PAUSE
            except (KafkaException, BufferError, MillraceError, ValueError, sqlite3.Error) as error:
                self.last_error = f"{type(error).__name__}: {error}"
                _LOG.warning("nothing was forwarded, trying again in %.1f s: %s", pause, self.last_error)
                producer = None  # its unsent messages are dropped with it, and sent again
                self._stop.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _forward(self, producer: Producer, reached: int) -> int:
        """Forward messages after a sequence number, or wait for some. Returns the last that Kafka has."""
        messages = self._log.pending(reached, _MOST)
        if not messages:
            self._log.wait_for_messages(_IDLE_SECONDS)
            return reached
        delivered = self._send(producer, messages)
        self.forwarded += len(delivered)
        self._log.forget(messages[-1].sequence, delivered)
        return messages[-1].sequence

    def _send(self, producer: Producer, messages: Sequence[Logged]) -> list[Delivered]:
        failed: list[KafkaError] = []
        delivered: list[Delivered] = []

        def report(logged: Logged, error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failed.append(error)
            else:
                place = (message.partition() or 0, message.offset() or 0)
                delivered.append(Delivered(logged.receipt, logged.source, *place, logged.logged_at))

        promises: dict[str, str] = {}
        for each in messages:
            if each.promise is not None:
                promises[each.source] = each.promise
                continue
            producer.produce(
                self._topic,
                value=each.value,
                key=each.key,
                headers=event_headers(each.source, self._node),
                on_delivery=partial(report, each),
            )
        self._flush(producer, failed)
        for source, promise in promises.items():
            headers = promise_headers(source, self._node, promise)
            producer.produce(
                self._topic, partition=0, headers=headers, on_delivery=partial(_note_failure, failed)
            )
        if promises:
            self._flush(producer, failed)
        return delivered

    def _flush(self, producer: Producer, failed: Sequence[KafkaError]) -> None:
        missing = producer.flush(_ACK_SECONDS)
        if failed or missing:
            producer.purge()
            raise KafkaException(failed[0] if failed else KafkaError(KafkaError._MSG_TIMED_OUT))  # noqa: SLF001


def _note_failure(failed: list[KafkaError], error: KafkaError | None, message: Message) -> None:
    del message
    if error is not None:
        failed.append(error)
