"""Sends messages to Kafka without the log: acknowledged by Kafka, or sent once without retries."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from intake.log.entries import Delivered, Tally
from intake.log.message_log import MessageLog, OverloadedError, UnavailableError
from intake.producers import event_headers
from intake.segment_requests import Message as Event
from intake.segment_requests import TooLargeError

_POLL_SECONDS = 0.1
_FAILED_SECONDS = 15.0
"""Seconds for the reports of a producer that has failed; it waits for Kafka for less."""
_LOG = logging.getLogger(__name__)
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
    too_large: int = 0
    done: "Future[None]" = field(default_factory=Future)

    def report(self, error: KafkaError | None, message: Message) -> None:
        """Record Kafka's delivery report of one message."""
        if error is None:
            place = (message.partition() or 0, message.offset() or 0)
            self.delivered.append(Delivered(self.receipt, self.source, *place, self.received_at))
        self.failed += error is not None
        self.too_large += error is not None and error.code() == KafkaError.MSG_SIZE_TOO_LARGE
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
        """Send messages. The future ends once Kafka has all of them, else with an error.

        It is a `TooLargeError` if a message is larger than the topic's limit, else an `UnavailableError`.

        Raises:
            OverloadedError: if too much is waiting for Kafka.
            UnavailableError: if the producer does not take them.
        """
        sending = self._send(self._durable, source, receipt, messages)
        answer: Future[None] = Future()

        def finish(done: "Future[None]") -> None:
            del done
            self._log.note_delivered(sending.delivered)
            if sending.too_large:
                answer.set_exception(TooLargeError("an event is larger than the topic's max.message.bytes"))
            elif sending.failed:
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
            UnavailableError: if the producer does not take them.
        """
        sending = self._send(self._once, source, receipt, messages)
        self._log.count(source, Tally(received=len(messages)))

        def finish(done: "Future[None]") -> None:
            del done
            self._log.note_delivered(sending.delivered)
            self._log.count(source, Tally(forwarded=len(sending.delivered), lost=sending.failed))

        sending.done.add_done_callback(finish)

    def stop(self, seconds: float) -> None:
        """Wait up to so many seconds for Kafka's delivery reports, then stop."""
        for reports in [producer.disconnect(seconds) for producer in (self._durable, self._once)]:
            if reports is not None:
                reports.join()

    def _send(
        self, producers: "_PolledProducer", source: str, receipt: str, messages: Sequence[Event]
    ) -> _Sending:
        producer = producers.connected()
        sending = _Sending(receipt, source, time.time_ns() // 1000, len(messages))
        headers = event_headers(source, self._node)
        try:
            for message in messages:
                producer.produce(
                    self._topic, message.value, message.key, headers=headers, on_delivery=sending.report
                )
        except BufferError as error:
            raise OverloadedError from error  # the client sends all messages again, with the same UIDs
        except KafkaException as error:
            if error.args[0].code() == KafkaError._FATAL:  # noqa: SLF001 - it takes nothing any more
                _LOG.warning("Kafka's producer has failed, the next request gets a new one: %s", error)
                producers.disconnect(_FAILED_SECONDS)
            raise UnavailableError("Kafka's producer does not take the events") from error
        return sending


class _PolledProducer:
    """A producer that connects on first use, and the thread that reads its delivery reports. Not thread-safe.

    Args:
        make: creates the producer.
    """

    def __init__(self, make: MakeProducer) -> None:
        self._make = make
        self._reports: _ReportReader | None = None

    def connected(self) -> Producer:
        """The connected producer."""
        if self._reports is None:
            self._reports = _ReportReader(self._make())
            self._reports.start()
        return self._reports.producer

    def disconnect(self, seconds: float) -> "_ReportReader | None":
        """Connect again on the next use. Returns the thread, which still reads reports for some seconds."""
        reports, self._reports = self._reports, None
        if reports is not None:
            reports.end(seconds)
        return reports


class _ReportReader(threading.Thread):
    """Reads the delivery reports of a producer.

    Args:
        producer: the producer.
    """

    def __init__(self, producer: Producer) -> None:
        super().__init__(name="kafka-answers", daemon=True)
        self.producer = producer
        self._until: float | None = None

    def end(self, seconds: float) -> None:
        """End once all reports have come, or after so many seconds."""
        self._until = time.monotonic() + seconds

    def run(self) -> None:
        """Read reports until the end."""
        while self._until is None or (len(self.producer) and time.monotonic() < self._until):
            with suppress(KafkaException):  # a fatal error, which `produce` raises as well
                self.producer.poll(_POLL_SECONDS)
