"""Records of bronze are compared with the bytes at their offsets in a real broker."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from typer.testing import CliRunner

from kit.home import Home
from kit.oracle_home import oracle_home
from kit.oracle_wire import micros
from kit.polling import eventually
from kit.records import NOON, Record, Stored, message, record
from lakehouse.timestamps import from_micros
from millrace.cli import app, register_commands

_CONFIG = {"retention.ms": "-1", "message.timestamp.after.max.ms": str(2**62)}
MINUTE = timedelta(minutes=1)
ORDER = {"order_id": "o-1", "total": 10, "currency": "EUR"}


def messages() -> list[Record]:
    bodies = [message(f"m-{number}", "ann", at=NOON + number * MINUTE) for number in range(40)]
    bodies.append(message("order", "ann", "Order Completed", NOON + 40 * MINUTE, properties=ORDER))
    return [record(body, headers=(("node", b"main"),)) for body in bodies]


def create(home: Home, records: list[Record]) -> None:
    """Create the topic, and write records to its only partition."""
    admin = KafkaAdminClient(bootstrap_servers=home.bootstrap)
    admin.create_topics([NewTopic(home.topic, 1, 1, topic_configs=_CONFIG)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=home.bootstrap, acks="all")
    for each in records:
        at, headers = micros(each.timestamp) // 1000, list(each.headers)
        producer.send(home.topic, each.value, partition=0, headers=headers, timestamp_ms=at).get(30)
    producer.close()


def delete(home: Home) -> None:
    admin = KafkaAdminClient(bootstrap_servers=home.bootstrap)
    admin.delete_topics([home.topic])
    eventually(lambda: home.topic not in admin.list_topics(), what="the topic is deleted")
    admin.close()


def in_bronze(home: Home) -> list[Stored]:
    """The records as Kafka has them, with one ingest stamp."""
    consumer = KafkaConsumer(home.topic, bootstrap_servers=home.bootstrap, auto_offset_reset="earliest")
    found: list[Any] = []
    while len(found) < len(messages()):
        found += [each for batch in consumer.poll(1000).values() for each in batch]
    consumer.close()
    return [
        Stored(
            Record(each.value, tuple(each.headers), from_micros(each.timestamp * 1000), home.topic),
            each.offset,
            NOON,
        )
        for each in found
    ]


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    register_commands()

    def run(home: Home, *arguments: str) -> Any:
        for name, value in home.env.items():
            monkeypatch.setenv(name, value)
        return CliRunner().invoke(app, ["trace", "gold.conversions", *arguments])

    return run


def test_altered_record_is_noticed(new_home: Callable[..., Home], trace: Callable[..., Any]) -> None:
    home = new_home()
    create(home, messages())
    oracle_home(home.path, in_bronze(home))
    name = json.loads(home_sql(home, "SELECT conversion_id FROM gold.conversions"))["conversion_id"]
    same = trace(home, name, "--compare", "--json")
    lines = [json.loads(line) for line in same.stdout.splitlines()]
    assert same.exit_code == 0
    assert [line["offset"] for line in lines if line["part"] == "counted"] == [0, 40]
    assert {line["offset"] for line in lines} == set(range(41))
    assert {line["in_kafka"] for line in lines} == {"same in Kafka"}

    delete(home)
    altered = messages()[:-1]
    altered[7] = record(message("m-7", "bob", at=NOON + 7 * MINUTE), headers=altered[7].headers)
    create(home, altered)
    other = trace(home, name, "--compare", "--json")
    states = {line["offset"]: line["in_kafka"] for line in map(json.loads, other.stdout.splitlines())}
    assert other.exit_code == 1
    assert states.pop(7) == "differs from Kafka: value"
    assert states.pop(40) == "not in Kafka"
    assert set(states.values()) == {"same in Kafka"}


def home_sql(home: Home, query: str) -> str:
    return home.must("sql", "--json", query)
