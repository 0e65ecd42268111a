"""The committed position of capture, from a simulated consumer."""

import threading
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import create_autospec

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from lakehouse.errors import MillraceError
from shop.capture import change_topic
from shop.capture.change_topic import ChangeTopic, Position

STORED = '{"lsn": 7, "system": "s", "tables": ["public.orders"]}'


def topic_with(answers: list[Any], producer: Any = None, records: Sequence[Any] = ()) -> ChangeTopic:
    """A topic whose consumer gives these answers, or raises these errors, in order; and these records."""
    producer = producer or create_autospec(Producer, instance=True)
    consumer = create_autospec(Consumer, instance=True)
    consumer.poll.side_effect = records
    consumer.committed.side_effect = [
        KafkaException(KafkaError(each)) if isinstance(each, int) else each for each in answers
    ]
    made: Callable[[str], Any] = lambda _group: consumer  # noqa: E731
    return ChangeTopic("changes", "capture", lambda _id: producer, made)


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


def test_commit_that_does_not_return_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_topic, "_DEADLINE_SECONDS", 0.01)
    end, producer = threading.Event(), create_autospec(Producer, instance=True)
    producer.send_offsets_to_transaction.side_effect = lambda *_: end.wait(30)
    topic = topic_with([], producer)
    try:
        with pytest.raises(MillraceError, match="has not taken changes"):
            topic.commit(Position(7, "s", ()))
        topic.close()
        producer.abort_transaction.assert_not_called()
        producer.commit_transaction.assert_not_called()
    finally:
        end.set()


def test_commit_that_fails_is_an_error() -> None:
    producer = create_autospec(Producer, instance=True)
    producer.send_offsets_to_transaction.side_effect = KafkaException(
        KafkaError(KafkaError.INVALID_TXN_STATE)
    )
    topic = topic_with([], producer)
    with pytest.raises(MillraceError, match="does not take changes"):
        topic.commit(Position(7, "s", ()))
    topic.close()
    producer.abort_transaction.assert_called_once()


def polled(key: bytes | None = None, error: int | None = None, value: bytes | None = None) -> Message:
    """What a consumer gives: a record with a key, or an error."""
    message = create_autospec(Message, instance=True)
    message.key.return_value, message.error.return_value = key, error and KafkaError(error)
    message.value.return_value = value
    return message


END = polled(error=KafkaError._PARTITION_EOF)
KEY = b'{"source":"shop","table":"public.orders","key":{"id":"1"}}'
OF_SHOP = polled(KEY, value=b'{"lsn":7,"kind":"delete"}')


@pytest.mark.parametrize(
    ("records", "latest"),
    [
        ([END], None),
        ([OF_SHOP, END], 7),
        ([OF_SHOP, polled(KEY, value=b'{"lsn":9}'), polled(KEY), OF_SHOP, END], 9),
        ([polled(KEY, value=b"no change"), END], 0),
        ([polled(b'{"source":"other","table":"t","key":null}'), polled(b"k"), polled(), OF_SHOP, END], 7),
        ([polled(b'{"source":"other","table":"shop","key":null}'), END, OF_SHOP], None),
    ],
)
def test_records_of_a_source_are_searched_up_to_the_end(records: list[Message], latest: int | None) -> None:
    assert topic_with([], records=records).latest_lsn_of("shop") == latest


@pytest.mark.parametrize("silence", [None, polled(error=KafkaError.TOPIC_AUTHORIZATION_FAILED)])
def test_search_that_does_not_reach_the_end_is_an_error(silence: Message | None) -> None:
    with pytest.raises(MillraceError, match="does not take changes"):
        topic_with([], records=[silence]).latest_lsn_of("shop")
