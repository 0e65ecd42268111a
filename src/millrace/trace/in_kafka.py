"""Compares records of bronze with the bytes that Kafka has at their offsets."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kafka.structs import TopicPartition

from bronze.kafka import offset_spans, records_at
from bronze.topics.topic_history import PARTITIONS_APART, current_generations
from lakehouse.settings import Settings
from lakehouse.timestamps import to_micros
from millrace.tables.table_scan import Row
from millrace.tables.topic_state import read_changes
from millrace.trace.history import Place
from millrace.trace.records import TracedRecord

SAME, GONE, MISSING = "same in Kafka", "no longer in Kafka", "not in Kafka"
DIFFERS = "differs from Kafka: "


def compare_with_kafka(settings: Settings, records: Iterable[TracedRecord]) -> dict[Place, str]:
    """By coordinates, `SAME`, `GONE`, `MISSING`, or `DIFFERS` with what differs.

    `GONE` are offsets before the first that Kafka has, and topics that were created again since.

    Raises:
        MillraceError: if no broker answers.
    """
    current = current_generations(read_changes(settings))
    stored: dict[TopicPartition, dict[int, tuple[Place, Row]]] = defaultdict(dict)
    answer: dict[Place, str] = {}
    for each in records:
        generation, partition = divmod(each.place.partition, PARTITIONS_APART)
        known = current.get(each.place.topic)
        if each.stored is None or generation != (known.number if known else 0):
            answer[each.place] = GONE if each.stored is not None else "not in bronze"
        else:
            of_partition = stored[TopicPartition(each.place.topic, partition)]
            of_partition[each.place.offset] = each.place, each.stored
    spans = offset_spans(settings) if stored else {}
    for partition, rows in stored.items():
        found = records_at(settings, partition, rows) if partition in spans else {}
        for offset, (place, row) in rows.items():
            is_gone = partition in spans and offset < spans[partition][0]
            answer[place] = _compare(row, found[offset]) if offset in found else GONE if is_gone else MISSING
    return answer


def _compare(stored: Row, record: Any) -> str:
    """Compare a row of bronze with a record of kafka-python."""
    in_kafka: Mapping[str, Any] = {
        "key": record.key,
        "value": record.value,
        "headers": [(key, value) for key, value in record.headers or ()],
        "timestamp": record.timestamp * 1000,
    }
    in_bronze = {
        "key": _bytes(stored["key"]),
        "value": _bytes(stored["value"]),
        "headers": [(each["key"], _bytes(each["value"])) for each in stored["headers"] or ()],
        "timestamp": to_micros(stored["timestamp"]),
    }
    differing = [name for name, value in in_bronze.items() if value != in_kafka[name]]
    return DIFFERS + ", ".join(differing) if differing else SAME


def _bytes(value: Any) -> bytes | None:
    """Bytes of a row of any reader."""
    return None if value is None else bytes(value)
