"""Requests of persons that come by a Kafka topic."""

import json
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from kit.warehouse_builder import append_rows
from lakehouse.settings import Settings, load_settings
from millrace.operations.requests_topic import receive_requests
from privacy.requests.register import Register

CAME = datetime(2026, 11, 2, 8, tzinfo=timezone.utc)


@pytest.fixture
def settings(tmp_path: Path, broker: Any) -> Settings:
    """A home in which two visitors are ann, and one of them is ben too."""
    spans = [("phone", "ann"), ("tablet", "ann"), ("tablet", "ben")]
    rows = [{"visitor_id": visitor, "user_id": user, "valid_from": CAME} for visitor, user in spans]
    append_rows(tmp_path, "silver.identities", rows)
    return load_settings(home=tmp_path, kafka_bootstrap=broker.bootstrap)


def send(settings: Settings, *messages: object, topic: str = "") -> str:
    """Write messages that came at `CAME`, by default to a new topic; returns its name."""
    if not topic:
        topic = f"requests-{uuid4().hex}"
        with closing(KafkaAdminClient(bootstrap_servers=settings.bootstrap)) as admin:
            admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "-1"})])
    producer = KafkaProducer(bootstrap_servers=settings.bootstrap)
    for each in messages:
        value = each if isinstance(each, bytes) else json.dumps(each).encode()
        producer.send(topic, value, timestamp_ms=int(CAME.timestamp() * 1000))
    producer.flush()
    producer.close()
    return topic


def test_each_request_is_entered_once_and_is_due_from_when_its_record_came(settings: Settings) -> None:
    topic = send(
        settings,
        {"id": "r-1", "user": "ann"},
        {"id": "r-2", "visitor": ["stranger", "guest"], "sent_by": "form"},
        {"id": "r-1", "user": ["ann"]},
    )
    first, second = receive_requests(settings, topic)
    assert (first.users, second.visitors) == (("ann",), ("stranger", "guest"))
    register = Register(settings.home)
    ann, others = register.requests()
    assert (ann.id, ann.reference, len(ann.identities)) == (first.number, f"{topic}/r-1", 3)
    assert (others.id, others.reference, len(others.identities)) == (second.number, f"{topic}/r-2", 2)
    assert (ann.received_at, ann.deadline) == (CAME, CAME + timedelta(days=30))
    assert [each.number for each in receive_requests(settings, topic)] == [ann.id, others.id]


def test_done_requests_are_left_out(settings: Settings) -> None:
    topic = send(settings, *({"id": f"r-{number}", "user": f"u-{number}"} for number in range(4)))
    numbers = [each.number for each in receive_requests(settings, topic)]
    register = Register(settings.home)
    register.close(numbers[0], "withdrawn", CAME)
    register.start_erasure(numbers[1], [], CAME)
    register.add_erasure(numbers[1], "3 records erased", {}, CAME)
    register.add_proof(numbers[1], "00", False, "found twice", CAME)  # a search does not make it due again
    register.start_erasure(numbers[2], [], CAME)
    assert [each.number for each in receive_requests(settings, topic)] == numbers[2:]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"no JSON",
        b"[]",
        {"user": "ann"},
        {"id": "r-1"},
        {"id": 7, "user": "ann"},
        {"id": "r", "user": [""]},
        {"id": "r", "user": "\ud800"},
        b"[" * 100_000,
    ],
)
def test_record_that_is_no_request_is_named_and_the_next_one_is_received(
    settings: Settings, value: object
) -> None:
    topic = send(settings, value, {"id": "r-9", "user": "ann"})
    wrong, right = receive_requests(settings, topic)
    assert (wrong.place, wrong.number) == (f"{topic}/0, offset 0", "")
    assert wrong.problem.startswith("no request")
    assert right.users == ("ann",)


def test_visitor_of_several_users_is_named_until_the_request_is_corrected(settings: Settings) -> None:
    topic = send(settings, {"id": "r-1", "visitor": "tablet"})
    (found,) = receive_requests(settings, topic)
    assert "a visitor of several users" in found.problem
    assert Register(settings.home).requests() == []
    send(settings, {"id": "r-1", "visitor": "tablet", "user": "ben"}, topic=topic)
    (found,) = receive_requests(settings, topic)
    assert (found.problem, found.users) == ("", ("ben",))
