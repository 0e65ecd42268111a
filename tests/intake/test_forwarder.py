"""The forwarder sends what the log has to Kafka, whatever fails in between."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from intake.forwarder import Forwarder
from intake.log import pending
from intake.log.accounts import Account, read_accounts, read_counts, replay_shed
from intake.log.entries import Write
from intake.log.message_log import MessageLog
from intake.log.receipts import read_receipt
from intake.log.schema import open_log
from intake.segment_requests import Message
from kit.broken_log import BreakableConnection
from kit.polling import eventually


class SimulatedProducer:
    """A producer of a topic in memory, which sends all waiting records as one batch.

    Args:
        limit: maximum bytes of the values of a batch.
    """

    def __init__(self, limit: int = 1000) -> None:
        self.limit = limit
        self.topic: list[bytes] = []
        self._batch: list[tuple[bytes, Any]] = []

    def produce(self, _: str, *, value: bytes = b"", on_delivery: Any, **more: object) -> None:
        del more
        self._batch.append((value, on_delivery))

    def flush(self, seconds: float) -> int:
        del seconds
        batch, self._batch = self._batch, []
        is_too_large = sum(len(value) for value, _ in batch) > self.limit
        for value, report in batch:
            if is_too_large:
                report(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), None)
            else:
                self.topic.append(value)
                offset = len(self.topic) - 1
                report(None, SimpleNamespace(partition=lambda: 0, offset=lambda offset=offset: offset))
        return 0


@contextmanager
def forwarding(log: MessageLog, producer: SimulatedProducer) -> Iterator[Forwarder]:
    forwarder = Forwarder(log, "events", "main", lambda: producer)  # type: ignore[arg-type, return-value]
    forwarder.start()
    try:
        yield forwarder
    finally:
        forwarder.stop(0)


def append(log: MessageLog, *values: bytes) -> None:
    log.append(Write("r", "shop", [Message(b"k", value) for value in values])).result()


def test_forwarder_goes_on_after_an_error_of_the_log(
    log: MessageLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_open = False

    def open_reader(file: Path) -> Any:
        return open_log(file) if may_open else BreakableConnection(file, is_broken=True)

    monkeypatch.setattr(pending, "open_log", open_reader)
    append(log, b"1")
    producer = SimulatedProducer()
    with forwarding(log, producer) as forwarder:
        assert "disk I/O error" in eventually(lambda: forwarder.last_error)
        may_open = True
        eventually(lambda: forwarder.last_error is None and not log.totals.waiting)
    assert producer.topic == [b"1"]


def test_event_above_the_limit_of_the_topic_is_shed_and_others_are_forwarded(
    log: MessageLog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, producer = tmp_path / "messages.db", SimulatedProducer(50)
    append(log, b"1", b"2" * 60, b"3")
    with forwarding(log, producer):
        append(log, b"4")
        log.append(Write("", "shop", promise="2026-11-02T10:00:00Z")).result()
        eventually(lambda: not log.totals.waiting)
        assert (log.totals.shed, log.totals.shed_size, log.totals.size) == (1, 60, 0)
        assert read_accounts(file) == read_counts(file) == [Account("shop", 4, 3, 0, 1, 0, 0, 0)]
        receipt = read_receipt(file, "r")
        assert (receipt.shed, receipt.waiting, len(receipt.delivered)) == (1, 0, 3)
        assert [value for value in producer.topic if value] == [b"1", b"3", b"4"]
        assert "1 events of shop are larger than topic events takes, the largest has 61 bytes" in caplog.text
        replay_shed(file)
        eventually(lambda: read_accounts(file) == [Account("shop", 4, 3, 0, 1, 0, 0, 1)])
        producer.limit = 60
        replay_shed(file)
        eventually(lambda: b"2" * 60 in producer.topic)
        eventually(lambda: not log.totals.waiting)
    assert read_accounts(file) == read_counts(file) == [Account("shop", 4, 4, 0, 0, 0, 0, 2)]


def test_small_events_of_a_batch_above_the_limit_are_forwarded(log: MessageLog) -> None:
    producer = SimulatedProducer(50)
    append(log, *(b"%d" % number * 20 for number in range(5)))
    with forwarding(log, producer):
        eventually(lambda: not log.totals.waiting)
    assert producer.topic == [b"%d" % number * 20 for number in range(5)]
    assert log.totals.shed == 0
