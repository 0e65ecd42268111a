"""Receipts whose topic was recreated: an offset may be that of an older record, too."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from bronze.topics.topic_history import bronze_partition
from intake.log.entries import Delivered
from intake.log.receipts import Receipt
from kit.warehouse_builder import append_rows
from lakehouse.settings import load_settings
from lakehouse.timestamps import to_micros
from millrace.explain import receipt
from millrace.explain.receipt import EVENT, IN_KAFKA, follow_receipt

LOGGED_AT = datetime(2026, 11, 2, 10, tzinfo=timezone.utc)


def add(home: Path, generation: int, at: datetime, uid: str) -> None:
    place = {"topic": "events", "partition": bronze_partition(generation, 1), "offset": 7}
    append_rows(home, "bronze.kafka_records", [{**place, "timestamp": at, "ingested_at": at}])
    append_rows(home, "silver.events", [{**place, "event_id": uid, "event_time": at, "ingested_at": at}])


def test_event_is_found_in_the_generation_that_it_was_sent_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Receipt(0, 0, (Delivered("r", "shop", 1, 7, to_micros(LOGGED_AT)),), LOGGED_AT)
    monkeypatch.setattr(receipt, "log_files", lambda _: {"main": tmp_path})
    monkeypatch.setattr(receipt, "read_receipt", lambda *_: sent)
    settings = load_settings(home=tmp_path)
    add(tmp_path, 0, LOGGED_AT - timedelta(days=1), "older")
    (place,) = follow_receipt(settings, "r")
    assert (place.state, place.partition, place.offset) == (IN_KAFKA, 1, 7)
    add(tmp_path, 1, LOGGED_AT + timedelta(seconds=2), "its own")
    (place,) = follow_receipt(settings, "r")
    assert (place.state, place.partition) == (EVENT, 1)
    assert (place.details or {})["event_id"] == "its own"
