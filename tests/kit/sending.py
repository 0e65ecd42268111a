"""Helpers for tests that send to a real broker."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from kafka import KafkaConsumer, TopicPartition

from bronze.kafka_auth import client_options
from kit.polling import eventually
from lakehouse.settings import Settings, load_settings
from millrace.clients.record import Record


def settings_for(bootstrap: str, home: Path) -> Settings:
    topic = f"events-{uuid4().hex}"
    return load_settings(
        home=home,
        kafka_bootstrap=bootstrap,
        events_topic=topic,
        exchange_rates_topic=f"{topic}-rates",
        campaign_costs_topic=f"{topic}-costs",
        shop_changes_topic=f"{topic}-shop",
    )


def in_topic(settings: Settings) -> list[Any]:
    """All records of the topic, from each partition's start to its end."""
    consumer = KafkaConsumer(
        bootstrap_servers=settings.bootstrap, enable_auto_commit=False, **client_options(settings)
    )
    parts = [
        TopicPartition(settings.events_topic, number)
        for number in consumer.partitions_for_topic(settings.events_topic)
    ]
    ends = consumer.end_offsets(parts)
    consumer.assign(parts)
    consumer.seek_to_beginning(*parts)
    found: list[Any] = []

    def all_read() -> bool:
        for batch in consumer.poll(timeout_ms=200).values():
            found.extend(batch)
        return all(consumer.position(part) >= ends[part] for part in parts)

    eventually(all_read, 120)
    consumer.close()
    return found


def told_by(path: Path) -> dict[str, Any]:
    reported: dict[str, Any] = json.loads(path.read_text())
    return reported


def numbered(count: int) -> list[Record]:
    return [Record(b"key %d" % (number % 50), b"value %d" % number) for number in range(count)]
