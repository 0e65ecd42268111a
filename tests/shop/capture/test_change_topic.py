"""The committed position of capture, from a simulated consumer."""

from collections.abc import Callable
from typing import Any
from unittest.mock import create_autospec

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from lakehouse.errors import MillraceError
from shop.capture import change_topic
from shop.capture.change_topic import ChangeTopic, Position

STORED = '{"lsn": 7, "system": "s", "tables": ["public.orders"]}'


def topic_with(answers: list[Any]) -> ChangeTopic:
    """A topic whose consumer gives these answers, or raises these errors, in order."""
    consumer = create_autospec(Consumer, instance=True)
    consumer.committed.side_effect = [
        KafkaException(KafkaError(each)) if isinstance(each, int) else each for each in answers
    ]
    made: Callable[[str], Any] = lambda _group: consumer  # noqa: E731
    return ChangeTopic("changes", "capture", lambda _id: create_autospec(Producer, instance=True), made)


@pytest.mark.parametrize(
    "moves",
    [
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
    ],
)
def test_position_is_read_once_the_coordinator_has_moved(moves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_topic, "_RETRY_SECONDS", 0)
    found = TopicPartition("changes", 0, 0, STORED)
    assert topic_with([moves, moves, [found]]).position() == Position(7, "s", ("public.orders",))


def test_other_errors_are_reported_at_once() -> None:
    with pytest.raises(MillraceError, match="does not take changes"):
        topic_with([KafkaError.GROUP_AUTHORIZATION_FAILED]).position()
