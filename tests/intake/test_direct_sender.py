"""Requests that wait for Kafka, with simulated producers and with a fatal error of a real one."""

import ctypes
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from queue import Empty, SimpleQueue
from shutil import copy
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException
from starlette.testclient import TestClient

from intake.admission import Admission
from intake.app import Collector
from intake.delivery import Delivery
from intake.direct_sender import DirectSender
from intake.forwarder import Forwarder
from intake.log.accounts import read_accounts
from intake.log.message_log import MessageLog, OverloadedError, UnavailableError
from intake.producers import direct_producer
from intake.segment_requests import Message, TooLargeError
from intake.sources import load_sources
from kit.parser import CONF

SECONDS = 10.0
FATAL = KafkaException(KafkaError(KafkaError._FATAL))
MESSAGES = [Message(None, b'{"messageId":"1"}'), Message(None, b'{"messageId":"2"}')]
DELIVERED = SimpleNamespace(partition=lambda: 0, offset=lambda: 7)


class SimulatedProducer:
    """A producer whose messages are delivered, but for the given results of its first messages.

    An exception is raised, an error of Kafka is reported.
    """

    def __init__(self, *first: Exception | KafkaError | None) -> None:
        self._first = list(first)
        self._reports: SimpleQueue[Any] = SimpleQueue()

    def produce(self, *_: object, headers: object, on_delivery: Any) -> None:
        error = self._first.pop(0) if self._first else None
        if isinstance(error, Exception):
            raise error
        self._reports.put(partial(on_delivery, error))

    def poll(self, seconds: float) -> None:
        with suppress(Empty):
            self._reports.get(timeout=seconds)(DELIVERED)

    def __len__(self) -> int:
        return self._reports.qsize()


@contextmanager
def sending(log: MessageLog, *producers: Any) -> Iterator[tuple[DirectSender, list[Any]]]:
    """A sender and the producers that it has not used yet."""
    unused = list(producers)
    sender = DirectSender(log, "events", "main", lambda: unused.pop(0), lambda: unused.pop(0))
    try:
        yield sender, unused
    finally:
        sender.stop(SECONDS)


def test_full_queue_refuses_a_request_and_keeps_the_producer(log: MessageLog) -> None:
    with sending(log, SimulatedProducer(BufferError("full"))) as (sender, _):
        with pytest.raises(OverloadedError):
            sender.send_acknowledged("shop", "r1", MESSAGES)
        sender.send_acknowledged("shop", "r2", MESSAGES).result(SECONDS)


def test_error_of_one_message_keeps_the_producer(log: MessageLog) -> None:
    unknown = KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC))
    with sending(log, SimulatedProducer(unknown)) as (sender, _):
        with pytest.raises(UnavailableError):
            sender.send_acknowledged("shop", "r1", MESSAGES)
        sender.send_acknowledged("shop", "r2", MESSAGES).result(SECONDS)


def test_next_request_after_a_fatal_error_gets_a_new_producer(log: MessageLog) -> None:
    with sending(log, SimulatedProducer(None, FATAL), SimulatedProducer()) as (sender, unused):
        with pytest.raises(UnavailableError):
            sender.send_acknowledged("shop", "r1", MESSAGES)
        assert len(unused) == 1
        sender.send_acknowledged("shop", "r2", MESSAGES).result(SECONDS)


def test_sender_stops_after_a_fatal_error(log: MessageLog) -> None:
    with sending(log, SimulatedProducer(FATAL)) as (sender, _), pytest.raises(UnavailableError):
        sender.send_acknowledged("shop", "r1", MESSAGES)


def test_stop_waits_for_delivery_reports(log: MessageLog, tmp_path: Path) -> None:
    with sending(log, SimulatedProducer()) as (sender, _):
        for request in range(50):
            sender.send_once("shop", str(request), MESSAGES)
    log.close()
    (account,) = read_accounts(tmp_path / "messages.db")
    assert (account.received, account.forwarded, account.lost) == (100, 100, 0)


def test_request_with_an_event_above_the_limit_of_the_topic_is_too_large(log: MessageLog) -> None:
    other, too_large = KafkaError(KafkaError._MSG_TIMED_OUT), KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)
    with sending(log, SimulatedProducer(other, too_large, other)) as (sender, _):
        with pytest.raises(TooLargeError, match=r"max\.message\.bytes"):
            sender.send_acknowledged("shop", "r1", MESSAGES).result(SECONDS)
        with pytest.raises(UnavailableError):
            sender.send_acknowledged("shop", "r2", MESSAGES).result(SECONDS)


@pytest.mark.parametrize("option", ["acknowledge: kafka", "delivery: at_most_once"])
def test_request_with_a_fatal_error_is_answered_503_and_may_be_repeated(
    log: MessageLog, tmp_path: Path, option: str
) -> None:
    key = sha256(b"key").hexdigest()
    (tmp_path / "sources.yml").write_text(f"sources: [{{name: shop, key_sha256: {key}, {option}}}]")
    copy(CONF / "identities.yml", tmp_path)
    sources = load_sources(tmp_path)
    with sending(log, SimulatedProducer(FATAL), SimulatedProducer()) as (sender, _):
        delivery = Delivery(log, sender, Admission(None))
        forwarder = Forwarder(log, "events", "main", SimulatedProducer)
        app = Collector(log, forwarder, delivery, lambda: sources).app()
        with TestClient(app) as client:
            event = {"type": "track", "event": "A", "userId": "u", "writeKey": "key"}
            answers = [client.post("/v1/track", json=event) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [503, 200]
    assert answers[0].headers["Retry-After"] == "1"


def raise_fatal_error(producer: Any) -> None:
    """Let librdkafka raise a fatal error, as it does after an answer of the broker."""
    folder = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs")
    files = list(folder.glob("librdkafka*.so*"))
    if not files:
        pytest.skip("librdkafka is not in the wheel")
    library = ctypes.CDLL(str(files[0]))
    library.rd_kafka_test_fatal_error.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
    handle = ctypes.c_void_p.from_address(id(producer) + object.__basicsize__).value
    library.rd_kafka_test_fatal_error(handle, KafkaError.INVALID_PRODUCER_EPOCH, b"a test")


def test_fatal_error_of_librdkafka_ends_waiting_requests_and_its_producer(log: MessageLog) -> None:
    producers = [direct_producer("127.0.0.1:1", {"security_protocol": "PLAINTEXT"}) for _ in range(2)]
    with sending(log, *producers) as (sender, unused):
        waiting = sender.send_acknowledged("shop", "r1", MESSAGES)
        raise_fatal_error(producers[0])
        with pytest.raises(UnavailableError):
            waiting.result(SECONDS)
        with pytest.raises(UnavailableError):
            sender.send_acknowledged("shop", "r2", MESSAGES)
        accepted = sender.send_acknowledged("shop", "r3", MESSAGES)
        assert unused == []
        producers[1].purge()
        assert wait([accepted], SECONDS).done
