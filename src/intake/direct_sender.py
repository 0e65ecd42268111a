"""Sends messages to Kafka without the log: acknowledged by Kafka, or sent once without retries."""

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
    """The delivery reports of one request's messages. All callbacks run on one thread."""

    receipt: str
    source: str
    received_at: int
    missing: int
    delivered: list[Delivered] = field(default_factory=list)
    failed: int = 0
    done: "Future[None]" = field(default_factory=Future)

    def report(self, error: KafkaError | None, message: Message) -> None:
        """Record Kafka's delivery report of one message."""
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
        log: stores counts, and the Kafka offsets of messages.
        topic: the topic of events.
        node: name of this collector, in Kafka's headers.
        durable: creates the producer of acknowledged messages.
        once: creates the producer of messages that are sent once.
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
        """Send messages. The future ends once Kafka has all of them, else with an `UnavailableError`.

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
        """Send messages once. Messages that Kafka does not take are counted as lost.

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
        """Wait up to so many seconds for Kafka's delivery reports, then stop."""
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
            raise OverloadedError from error  # the client sends all messages again, with the same UIDs
        return sending


class _PolledProducer:
    """A producer that connects on first use, and the thread that polls its delivery reports."""

    def __init__(self, make: MakeProducer) -> None:
        self._make = make
        self._producer: Producer | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def connected(self) -> Producer:
        """The connected producer. Not thread-safe."""
        if self._producer is None:
            self._producer = self._make()
            self._thread = threading.Thread(
                target=self._poll, args=(self._producer,), name="kafka-answers", daemon=True
            )
            self._thread.start()
        return self._producer

    def stop(self, seconds: float) -> None:
        """Wait up to so many seconds for delivery reports, then stop the thread."""
        if self._producer is not None and self._thread is not None:
            self._producer.flush(seconds)
            self._stop.set()
            self._thread.join()

    def _poll(self, producer: Producer) -> None:
        while not self._stop.is_set():
            producer.poll(_POLL_SECONDS)
