"""Sends messages to Kafka past the log: acknowledged by Kafka, or sent once and forgotten."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from time import time_ns

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from intake.log.entries import Delivered, Tally
from intake.log.message_log import MessageLog, OverloadedError, UnavailableError
from intake.producers import event_headers
from intake.segment_requests import Message as Event

_POLL_SECONDS = 0.1
MakeProducer = Callable[[], Producer]


@dataclass
class _Sending:
    """The messages of a request that Kafka has not acknowledged yet. Callbacks come on one thread."""

    receipt: str
    source: str
    received_at: int
    missing: int
    delivered: list[Delivered] = field(default_factory=list)
    failed: int = 0
    done: "Future[None]" = field(default_factory=Future)

    def report(self, error: KafkaError | None, message: Message) -> None:
        """Kafka's answer for one message."""
        if error is None:
            place = (message.partition() or 0, message.offset() or 0)
            self.delivered.append(Delivered(self.receipt, self.source, *place, self.received_at))
        self.failed += error is not None
        self.missing -= 1
        if not self.missing:
            self.done.set_result(None)


class DirectSender:
    """Sends requests to Kafka from memory.

    Args:
        log: keeps counts, and where messages are.
        topic: the topic of events.
        node: name of this collector, in Kafka's headers.
        durable: makes the producer of acknowledged messages.
        once: makes the producer of messages that are sent once.
    """

    def __init__(
        self, log: MessageLog, topic: str, node: str, durable: MakeProducer, once: MakeProducer
    ) -> None:
        self._log = log
        self._topic = topic
        self._node = node
        self._durable = _PolledProducer(durable)
        self._once = _PolledProducer(once)

    def send_acknowledged(self, source: str, receipt: str, messages: Sequence[Event]) -> "Future[None]":
        """Send messages. The result is there once Kafka has all of them, or an `UnavailableError`.

        Raises:
            OverloadedError: if too much is waiting for Kafka.
        """
        sending = self._send(self._durable.connected(), source, receipt, messages)
        answer: Future[None] = Future()

        def finish(done: "Future[None]") -> None:
            del done
            self._log.note_delivered(sending.delivered)
            if sending.failed:
                answer.set_exception(UnavailableError("Kafka did not take all events"))
            else:
                self._log.count(source, Tally(received=len(messages), forwarded=len(messages)))
                answer.set_result(None)

        sending.done.add_done_callback(finish)
        return answer

    def send_once(self, source: str, receipt: str, messages: Sequence[Event]) -> None:
        """Send messages once. What Kafka does not take is counted as lost.

        Raises:
            OverloadedError: if too much is waiting for Kafka.
        """
        sending = self._send(self._once.connected(), source, receipt, messages)
        self._log.count(source, Tally(received=len(messages)))

        def finish(done: "Future[None]") -> None:
            del done
            self._log.note_delivered(sending.delivered)
            self._log.count(source, Tally(forwarded=len(sending.delivered), lost=sending.failed))

        sending.done.add_done_callback(finish)

    def stop(self, seconds: float) -> None:
        """Wait so long for Kafka's answers, then end."""
        for producer in (self._durable, self._once):
            producer.stop(seconds)

    def _send(self, producer: Producer, source: str, receipt: str, messages: Sequence[Event]) -> _Sending:
        sending = _Sending(receipt, source, time_ns() // 1000, len(messages))
        headers = event_headers(source, self._node)
        try:
            for message in messages:
                producer.produce(
                    self._topic, message.value, message.key, headers=headers, on_delivery=sending.report
                )
        except (BufferError, KafkaException) as error:
            raise OverloadedError from error  # what was sent already comes again, under the same UID
        return sending


class _PolledProducer:
    """A producer, connected when it is needed first, and the thread that takes Kafka's answers."""

    def __init__(self, make: MakeProducer) -> None:
        self._make = make
        self._producer: Producer | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def connected(self) -> Producer:
        """The producer. For one thread."""
        if self._producer is None:
            self._producer = self._make()
            self._thread = threading.Thread(
                target=self._poll, args=(self._producer,), name="kafka-answers", daemon=True
            )
            self._thread.start()
        return self._producer

    def stop(self, seconds: float) -> None:
        """Wait so long for Kafka's answers, then end the thread."""
        if self._producer is not None and self._thread is not None:
            self._producer.flush(seconds)
            self._stop.set()
            self._thread.join()

    def _poll(self, producer: Producer) -> None:
        while not self._stop.is_set():
            producer.poll(_POLL_SECONDS)
