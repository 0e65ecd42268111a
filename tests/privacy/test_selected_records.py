"""Records are selected for an erasure by whose they are, also where the user id is a number."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from kit.spark import empty_home
from kit.warehouse_builder import append_rows
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.erasure.keyed_hash import KeyedHash
from privacy.erasure.selection import Selection
from privacy.identities import Person

AT = datetime(2026, 11, 2, tzinfo=timezone.utc)


def record(offset: int, value: bytes | None, key: bytes | None = None) -> dict[str, Any]:
    place = {"topic": "events", "partition": 0, "offset": offset}
    return {**place, "timestamp": AT, "ingested_at": AT, "key": key, "value": value}


def message(user: str, **fields: Any) -> bytes:
    return json.dumps({"messageId": "m", "type": "track", "userId": user, **fields}).encode()


def test_duplicates_and_rejected_records_of_others_that_mention_the_person_stay(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = empty_home(spark, tmp_path)
    duplicates = [
        record(0, message("eve", properties={"total": 42}), b"eve"),  # of an event of hers
        record(1, message("42"), b"42"),  # of an event of hers
        record(2, message("eve"), b"eve"),  # of an event of the person
        record(3, None),  # the same, its content was removed
    ]
    rejected = [
        record(10, message("eve", type="", properties={"total": 42})),
        record(11, message("42", type="")),
        record(12, b'{"userId": "42"'),
        record(13, b"", b"42"),
        record(14, b'{"userId": "eve"'),
    ]
    append_rows(tmp_path, "bronze.kafka_records", [*duplicates, *rejected])
    uids = ("eve-1", "eve-2", "own-1", "own-1")
    copies = [{**row, "event_id": uid} for row, uid in zip(duplicates, uids, strict=True)]
    append_rows(tmp_path, "silver.duplicate_events", copies)
    append_rows(tmp_path, "silver.rejected_events", rejected)
    append_rows(tmp_path, "silver.rejected_changes", [record(20, b'{"customer": "42"')])
    span = {"visitor_id": "v-42", "user_id": "42", "valid_from": None}
    append_rows(tmp_path, "silver.identities", [span, {**span, "visitor_id": "v-eve", "user_id": "eve"}])
    whose = {"own-1": "42", "eve-1": "eve", "eve-2": "eve"}
    events = [
        {**record(30 + number, None), "event_id": uid, "visitor_id": f"v-{user}", "user_id": user}
        for number, (uid, user) in enumerate(whose.items())
    ]
    events = [{**event, "event_time": AT} for event in events]
    append_rows(tmp_path, "silver.events", events)
    lake = Lakehouse(spark.newSession(), settings, "erase")
    person = Person(frozenset({"42"}), frozenset({"42", "v-42"}))
    selection = Selection(lake.spark, lake, person, KeyedHash.of_home(tmp_path), frozenset())
    found = selection.records(selection.events()).select("offset", "record_class").distinct().collect()
    assert sorted(tuple(row) for row in found) == [
        *((offset, "duplicate") for offset in (1, 2, 3)),
        *((offset, "rejected") for offset in (11, 12, 13, 20)),
        (30, "event"),
    ]
