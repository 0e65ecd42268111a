"""Forwards messages from the log to Kafka, in order."""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
    drops the copies. A promise is sent once Kafka has the messages before it. An event that is larger than
    the topic's limit is shed, and the others go on.

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
        answers = self._send(producer, messages)
        self.forwarded += len(answers.delivered)
        if answers.too_large:
            self._warn(answers.too_large)
        refused = [each.sequence for each in answers.too_large]
        self._log.forget(messages[-1].sequence, answers.delivered, refused)
        return messages[-1].sequence

    def _send(self, producer: Producer, messages: Sequence[Logged]) -> "_Answers":
        answers = _Answers()
        promises: dict[str, str] = {}
        for each in messages:
            if each.promise is None:
                self._produce(producer, each, answers)
            else:
                promises[each.source] = each.promise
        self._flush(producer, answers)
        refused, answers.too_large = answers.too_large, []
        for each in refused:  # alone: Kafka refuses all records of a batch that is too large
            self._produce(producer, each, answers)
            self._flush(producer, answers)
        for source, promise in promises.items():
            headers = promise_headers(source, self._node, promise)
            producer.produce(self._topic, partition=0, headers=headers, on_delivery=answers.note_promise)
        if promises:
            self._flush(producer, answers)
        return answers

    def _produce(self, producer: Producer, message: Logged, answers: "_Answers") -> None:
        producer.produce(
            self._topic,
            value=message.value,
            key=message.key,
            headers=event_headers(message.source, self._node),
            on_delivery=partial(answers.note, message),
        )

    def _flush(self, producer: Producer, answers: "_Answers") -> None:
        missing = producer.flush(_ACK_SECONDS)
        if answers.failed or missing:
            producer.purge()
            error = answers.failed[0] if answers.failed else KafkaError(KafkaError._MSG_TIMED_OUT)  # noqa: SLF001
            raise KafkaException(error)

    def _warn(self, too_large: Sequence[Logged]) -> None:
        _LOG.error(
            "%d events of %s are larger than topic %s takes, the largest has %d bytes. They are shed:"
            " raise the topic's max.message.bytes, then run `millrace replay shed`",
            len(too_large),
            ", ".join(sorted({each.source for each in too_large})),
            self._topic,
            max(len(each.key or b"") + len(each.value or b"") for each in too_large),
        )


@dataclass
class _Answers:
    """Kafka's answers to the messages of a group."""

    delivered: list[Delivered] = field(default_factory=list)
    too_large: list[Logged] = field(default_factory=list)
    failed: list[KafkaError] = field(default_factory=list)

    def note(self, logged: Logged, error: KafkaError | None, message: Message) -> None:
        """Note the answer to an event."""
        if error is None:
            place = (message.partition() or 0, message.offset() or 0)
            self.delivered.append(Delivered(logged.receipt, logged.source, *place, logged.logged_at))
        elif error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            self.too_large.append(logged)
        else:
            self.failed.append(error)

    def note_promise(self, error: KafkaError | None, message: Message) -> None:
        """Note the answer to a promise."""
        del message
        if error is not None:
            self.failed.append(error)
