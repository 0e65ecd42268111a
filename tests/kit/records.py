"""Kafka records for tests, and a bronze table filled with them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts import TABLES
from lakehouse.contracts.arrow import arrow_schema
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.rows.arrow_frames import to_frame
from lakehouse.run.ledger import Entry, Ledger
from lakehouse.settings import Settings

BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SENT = datetime(2026, 6, 1, tzinfo=timezone.utc)  # default Kafka timestamp
BRONZE = "bronze.kafka_records"
_STAMPS = datetime(2026, 6, 2, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Record:
    """A record as a producer sends it; `timestamp` is Kafka's."""

    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: datetime = SENT
    topic: str = "events"
    partition: int = 0
    key: bytes | None = None


@dataclass(frozen=True)
class Stored:
    """A record in bronze."""

    record: Record
    offset: int
    ingested_at: datetime


def instant(at: datetime) -> str:
    """A time in RFC 3339 with six decimals."""
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def message(uid: str, visitor: str, kind: str = "page", at: datetime = NOON, **more: Any) -> dict[str, Any]:
    """A message. `kind` is its type, or the event name of a track."""
    plain = kind in ("page", "screen", "identify", "group", "alias")
    body: dict[str, Any] = {"messageId": uid, "type": kind if plain else "track", "anonymousId": visitor}
    if not plain:
        body["event"] = kind
    return {**body, "originalTimestamp": instant(at), **more}


def record(body: object, **more: Any) -> Record:
    """A record of a message, or of raw bytes or text."""
    if isinstance(body, str):
        body = body.encode()
    return Record(body if isinstance(body, bytes) else json.dumps(body).encode(), **more)


def rate(currency: object, worth: object, valid_from: datetime | str) -> Record:
    """A record of an exchange rate."""
    start = valid_from if isinstance(valid_from, str) else instant(valid_from)
    return record({"currency": currency, "rate": worth, "valid_from": start}, topic="exchange_rates")


def heartbeat(text: str, value: bytes | None = None) -> Record:
    """A heartbeat record."""
    return Record(value, headers=(("other", b"1"), ("heartbeat", text.encode())))


def promise(source: str, until: datetime | str, at: datetime = SENT, partition: int = 0) -> Record:
    """A record in which a producer promises to send no event from before a time, or says `end`."""
    text = until if isinstance(until, str) else instant(until)
    headers = (("source", source.encode()), ("promise", text.encode()))
    return Record(None, headers, timestamp=at, partition=partition)


def bronze_rows(stored: Sequence[Stored]) -> pa.Table:
    """The records as rows of bronze."""
    rows = [
        {
            "topic": each.record.topic,
            "partition": each.record.partition,
            "offset": each.offset,
            "timestamp": each.record.timestamp,
            "key": each.record.key,
            "value": each.record.value,
            "headers": [{"key": key, "value": value} for key, value in each.record.headers] or None,
            "ingested_at": each.ingested_at,
        }
        for each in stored
    ]
    return pa.Table.from_pylist(rows, arrow_schema(TABLES[BRONZE]))


def in_bronze(spark: SparkSession, stored: Sequence[Stored]) -> DataFrame:
    """The records as a frame of bronze."""
    return to_frame(spark, bronze_rows(stored)).coalesce(1)


@dataclass
class Bronze:
    """Writes bronze of one home like the job ingest, and keeps the records.

    Args:
        spark: a Spark session.
        settings: the home's settings.
    """

    spark: SparkSession
    settings: Settings
    stored: list[Stored] = field(default_factory=list)
    commits: int = 0

    def commit(self, records: Sequence[Record]) -> None:
        """Append records as one micro-batch of ingest."""
        stamp = _STAMPS + timedelta(seconds=self.commits)
        new = [Stored(each, len(self.stored) + number, stamp) for number, each in enumerate(records)]
        lake = Lakehouse(self.spark.newSession(), self.settings, "ingest")
        lake.append_once(BRONZE, bronze_rows(new), "test", self.commits)
        Ledger(lake).record(Entry("ingest", self.commits, stamp, stamp, 0.0, len(new), output_rows=len(new)))
        self.stored += new
        self.commits += 1
