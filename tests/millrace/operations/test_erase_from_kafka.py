"""Erased records are deleted from Kafka, with those before them; later ones and other partitions stay."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

from kafka import KafkaProducer

from bronze.kafka import stored_records
from kit.warehouse_builder import append_rows
from lakehouse.settings import load_settings
from millrace.clients.topic import ensure_topic
from millrace.operations.erase_from_kafka import erase_from_kafka

STAMP = datetime(2026, 11, 28, tzinfo=timezone.utc)


def test_records_are_deleted_through_the_last_erased_one(broker: Any, tmp_path: Path) -> None:
    topic = f"events-{uuid4().hex}"
    settings = load_settings(home=tmp_path, kafka_bootstrap=broker.bootstrap, events_topic=topic)
    assert erase_from_kafka(settings, "2026-0001") == {}
    ensure_topic(broker.bootstrap, topic)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for number in range(5):
        producer.send(topic, b"%d" % number, partition=number % 2)
    producer.flush()
    producer.close()
    records = [(0, 1, "2026-0001"), (0, 0, "2026-0001"), (1, 1, "2026-0002"), (100_001, 1, "2026-0001")]
    rows = [
        {"topic": topic, "partition": partition, "offset": offset, "request": request, "ingested_at": STAMP}
        for partition, offset, request in records
    ]
    append_rows(tmp_path, "ops.erased_records", rows)
    append_rows(tmp_path, "bronze.kafka_records", [{**row, "partition": 0} for row in rows[:1]])
    assert erase_from_kafka(settings, "2026-0001") == {(topic, 0): 2}
    assert sorted(each.value for each in stored_records(settings, topic)) == [b"1", b"3", b"4"]
    assert erase_from_kafka(settings, "2026-0001") == {}
