"""The forwarder sends what the log has to Kafka, whatever fails in between."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from intake.forwarder import Forwarder
from intake.log import pending
from intake.log.entries import Write
from intake.log.message_log import MessageLog
from intake.log.schema import open_log
from intake.segment_requests import Message
from kit.broken_log import BreakableConnection
from kit.polling import eventually


class SimulatedProducer:
    """A producer of a topic in memory."""

    def __init__(self) -> None:
        self.topic: list[bytes] = []
        self._reports: list[Callable[[], None]] = []

    def produce(self, _: str, *, value: bytes, on_delivery: Any, **more: object) -> None:
        del more

        def report() -> None:
            self.topic.append(value)
            place = SimpleNamespace(partition=lambda: 0, offset=lambda: len(self.topic) - 1)
            on_delivery(None, place)

        self._reports.append(report)

    def flush(self, seconds: float) -> int:
        del seconds
        for report in self._reports:
            report()
        self._reports.clear()
        return 0


@pytest.fixture
def log(tmp_path: Path) -> Iterator[MessageLog]:
    log = MessageLog(tmp_path / "messages.db")
    yield log
    log.close()


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
