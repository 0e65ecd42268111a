"""Hand-written records, hostile and on boundaries, and the silver rows expected of each."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.oracle_wire import micros
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import NOON, SENT, Bronze, Record, heartbeat, instant, message, record
from kit.spark import empty_home
from lakehouse.settings import Settings
from lakehouse.timestamps import EPOCH

TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)
MAX_AHEAD = timedelta(minutes=5)


def message_text(uid: str, **more: Any) -> str:
    """A message as JSON text, for corruption."""
    return json.dumps(message(uid, "v-wire", **more))


def untimed(uid: str, **times: str) -> dict[str, Any]:
    """A message with no time but those given."""
    body = message(uid, f"v-{uid}", **times)
    return {name: value for name, value in body.items() if name in times or name != "originalTimestamp"}


REJECTED: dict[str, tuple[str, Record]] = {
    "null value": ("empty", Record(None)),
    "zero bytes": ("empty", Record(b"")),
    "a heartbeat without a valid time": ("empty", heartbeat("soon")),
    "a heartbeat with zero bytes": ("empty", heartbeat(instant(NOON), b"")),
    "white space alone": ("not_json", record("  \n")),
    "a JSON string": ("not_json", record('"hello"')),
    "an array around the object": ("not_json", record(f"[{message_text('x')}]")),
    "two objects": ("not_json", record(message_text("x") + message_text("y"))),
    "two objects with a comma": ("not_json", record(f"{message_text('x')},{message_text('y')}")),
    "words after the object": ("not_json", record(message_text("x") + " and more")),
    "a bracket after the object": ("not_json", record(message_text("x") + "]")),
    "a comma after the object": ("not_json", record(message_text("x") + ",")),
    "truncated": ("not_json", record(message_text("x")[:-1])),
    "single quotes": ("not_json", record(message_text("x").replace('"', "'"))),
    "NaN": ("not_json", record('{"messageId": "x", "n": NaN}')),
    "Infinity": ("not_json", record('{"messageId": "x", "n": -Infinity}')),
    "a comment": ("not_json", record("/* hi */" + message_text("x"))),
    "leading zero": ("not_json", record('{"messageId": 007}')),
    "a raw control character": ("not_json", record('{"messageId": "a\tb"}')),
    "a byte order mark alone": ("not_json", record("\ufeff")),
    "a byte order mark after the object": ("not_json", record(message_text("x") + "\ufeff")),
    "not UTF-8": ("not_json", record(b'{"messageId": "\xff"}')),
    "a forged end of the array": ("not_json", record(message_text("x") + ',{"\\u0000end":"0"}')),
    "no message id": ("no_message_id", record({"type": "page"})),
    "null message id": ("no_message_id", record({"messageId": None, "type": "page"})),
    "null message id after another": ("no_message_id", record('{"messageId": "x", "messageId": null}')),
    "empty message id": ("bad_message_id", record(message("", "v"))),
    "message id of 257 code points": ("bad_message_id", record(message("\U0001f600" * 257, "v"))),
    "no type": ("no_type", record({"messageId": "no type", "anonymousId": "v"})),
    "type of another case": ("unknown_type", record({**message("Page", "v"), "type": "Page"})),
    "numeric type": ("unknown_type", record({**message("number", "v"), "type": 5})),
    "no identity": ("no_identity", record({**message("nobody", "v"), "anonymousId": None})),
    "empty identities": ("no_identity", record({**message("empty", ""), "userId": ""})),
    "false as an id": ("no_identity", record({"messageId": "no", "type": "page", "anonymousId": False})),
    "placeholders": ("no_identity", record({**message("nobody", " NULL "), "userId": -1.0})),
}

TIMES: dict[str, tuple[datetime, dict[str, Any]]] = {
    "corrected by the delay before sending": (
        SENT - timedelta(seconds=9),
        untimed("c1", sentAt=instant(NOON + timedelta(seconds=9)), originalTimestamp=instant(NOON)),
    ),
    "sent at once": (SENT, untimed("c2", sentAt=instant(NOON), originalTimestamp=instant(NOON))),
    "sent before it happened: arrival counts, not timestamp": (
        SENT,
        untimed("c3", sentAt=instant(NOON), originalTimestamp=instant(NOON + TICK), timestamp=instant(NOON)),
    ),
    "sent before it happened, no timestamp: arrival counts": (
        SENT,
        untimed("c4", sentAt=instant(NOON), originalTimestamp=instant(NOON + TICK)),
    ),
    "timestamp before original": (
        NOON,
        untimed("c5", timestamp=instant(NOON), originalTimestamp=instant(NOON - DAY)),
    ),
    "invalid timestamp: original counts": (
        NOON,
        untimed("c6", timestamp="yesterday", originalTimestamp=instant(NOON)),
    ),
    "no time: Kafka timestamp counts": (SENT, untimed("c7")),
    "no time: server's arrival time counts": (NOON, untimed("c8", receivedAt=instant(NOON))),
    "received a day ahead of Kafka": (SENT + DAY, untimed("c9", receivedAt=instant(SENT + DAY))),
    "received more than a day ahead of Kafka: Kafka timestamp counts": (
        SENT,
        untimed("c10", receivedAt=instant(SENT + DAY + TICK)),
    ),
    "5 min ahead counts": (SENT + MAX_AHEAD, message("c11", "v-c11", at=SENT + MAX_AHEAD)),
    "more than 5 min ahead: arrival counts": (SENT, message("c14", "v-c14", at=SENT + MAX_AHEAD + TICK)),
    "a year ahead: arrival counts": (SENT, untimed("c15", timestamp=instant(SENT + 365 * DAY))),
    "a correction to before 1600: timestamp counts": (
        NOON,
        untimed(
            "c12",
            sentAt="9999-01-01T00:00:00Z",
            originalTimestamp="9572-08-01T23:59:59.999999Z",
            timestamp=instant(NOON),
        ),
    ),
    "a correction to 1600": (
        datetime(1600, 1, 1, tzinfo=timezone.utc),
        untimed("c13", sentAt="9999-01-01T00:00:00Z", originalTimestamp="9572-08-02T00:00:00Z"),
    ),
}

INGESTED = SENT + DAY  # stamp of the commit with these records
KAFKA_TIMES = {  # by Kafka timestamp, the event time of a record without a time
    EPOCH: EPOCH,
    EPOCH - TICK: INGESTED,
}


def order(uid: str, total: object, **more: object) -> Record:
    """An order of a visitor of its own."""
    properties = {"order_id": uid, "total": total, "currency": "EUR", **more}
    return record(message(uid, f"v-{uid}", "Order Completed", properties=properties))


MONEY: dict[str, tuple[str | None, Record]] = {
    "number": ("9.5000", order("m1", 9.5)),
    "text": ("9.5000", order("m2", " 9.50 ")),
    "half up": ("0.0001", order("m3", "0.00005")),
    "half up below zero": ("-0.0001", order("m4", "-0.00005")),
    "just below half": ("0.0000", order("m5", "0.0000499999999999999999999999999999999999999")),
    "exponent": ("1200.0000", order("m6", "1.2e3")),
    "an ambiguous total falls back to revenue": ("7.0000", order("m7", "1,000", revenue=7)),
    "thousands and cents": ("1999.0000", order("m15", "1.999,00")),
    "a currency's sign": ("39.9500", order("m16", "$39.95")),
    "NaN is null": (None, order("m8", "NaN")),
    "a boolean is null": (None, order("m9", True)),
    "largest": ("99999999999999.9999", order("m10", "99999999999999.9999")),
    "too large": (None, order("m11", "99999999999999.99995")),
    "far too large": (None, order("m12", "1e999999999")),
    "far too small": ("0.0000", order("m13", "1e-999999999")),
    "extremely small exponent": ("0.0000", order("m14", "1e-50000000")),
}

OTHERS = [
    heartbeat("2026-03-01T00:00:00+00:30"),
    record("\r\n\t " + message_text("space around") + "\n"),
    record("\ufeff" + message_text("byte order mark")),
    record(message("\U0001f600" * 256, "v-long")),
    record('{"messageId": "first", "messageId": "last", "type": "page", "anonymousId": "v-last"}'),
    record({**message("7", ""), "userId": 42}),
    record({"messageId": 7.50, "type": "page", "anonymousId": 7.0}),
    record({"messageId": [1, {"a": None}], "type": "page", "anonymousId": {}}),
    record(message("wrong shapes", "v-shape", context="page", properties=[1])),
    record(message("wrong shapes inside", "v-shape", context={"page": 5, "campaign": []}, properties=None)),
    record(message("promotion in text", "v-text", "Promotion Viewed", properties='{"promotion_id": "p"}')),
    record(message("no promotion", "v-none", "Promotion Clicked", properties={"promotion_id": ""})),
    record(
        message(
            "page of a name", "v-name", "screen", event="Promotion Viewed", properties={"url": "https://a/"}
        )
    ),
    record(
        message(
            "utm",
            "v-utm",
            context={"page": {"url": "https://shop.example/?utm_source=bing&utm_medium=c%70c"}},
        )
    ),
    record(message("1600", "v-old", sentAt="9999-01-01T00:00:00Z", originalTimestamp="9572-08-02T00:10:00Z")),
    record(
        message(
            "order of 1600",
            "v-old",
            "Order Completed",
            sentAt="9999-01-01T00:00:00Z",
            originalTimestamp="9572-08-02T00:20:00Z",
            properties={"order_id": "old", "total": 1},
        )
    ),
]
DUPLICATES = [record(message("c1", "v-another", "group")), record(message("c1", "v-third", "page"))]


@dataclass
class Refined:
    """The corpus after a run of every job."""

    settings: Settings
    bronze: Bronze

    def row(self, table: str, wanted: Record, *columns: str) -> tuple[Any, ...]:
        """The row of a record in a table."""
        offset = next(each.offset for each in self.bronze.stored if each.record is wanted)
        rows = read_rows(self.settings, table, ("offset", *columns))
        return next(tuple(row[name] for name in columns) for row in rows if row["offset"] == offset)


TIMED = {name: record(body) for name, (_, body) in TIMES.items()}
KAFKA_TIMED = {at: record(untimed(f"kafka {at}"), timestamp=at) for at in KAFKA_TIMES}


@pytest.fixture(scope="module")
def refined(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Refined:
    settings = empty_home(
        spark, tmp_path_factory.mktemp("corpus"), max_batch_rows=1
    )  # a commit a micro-batch
    bronze = Bronze(spark, settings)
    timed = [*TIMED.values(), *KAFKA_TIMED.values()]
    bronze.commit([record(message("before", "v-before", at=NOON)), *timed, *DUPLICATES[:1]])
    bronze.commit([*(each for _, each in (*REJECTED.values(), *MONEY.values())), *OTHERS, *DUPLICATES[1:]])
    run_jobs(spark, settings, "refine")
    run_jobs(spark, settings.model_copy(update={"max_batch_rows": 1000}), "repair", "publish")
    return Refined(settings, bronze)


@pytest.mark.parametrize("case", REJECTED)
def test_invalid_record_is_rejected_with_first_reason(refined: Refined, case: str) -> None:
    reason, wanted = REJECTED[case]
    assert refined.row("silver.rejected_events", wanted, "reason", "value") == (reason, wanted.value)


@pytest.mark.parametrize("case", TIMES)
def test_event_time_follows_clock_rule(refined: Refined, case: str) -> None:
    at, _ = TIMES[case]
    assert refined.row("silver.events", TIMED[case], "event_time") == (micros(at),)


def test_kafka_timestamp_before_1970_is_replaced_by_ingest_stamp(refined: Refined) -> None:
    found = {at: refined.row("silver.events", sent, "event_time") for at, sent in KAFKA_TIMED.items()}
    assert found == {at: (micros(wanted),) for at, wanted in KAFKA_TIMES.items()}


@pytest.mark.parametrize("case", MONEY)
def test_order_value_is_parsed_as_decimal(refined: Refined, case: str) -> None:
    amount, wanted = MONEY[case]
    (value,) = refined.row("silver.events", wanted, "value")
    assert (value if value is None else f"{value:f}") == amount


def test_all_tables_match_oracle(refined: Refined) -> None:
    assert_as_the_oracle(refined.settings, Oracle.over(refined.bronze.stored))


def test_ledger_counts_heartbeats_apart_from_events(refined: Refined) -> None:
    columns = ("job", "input_rows", "output_rows", "duplicates", "rejected", "heartbeats")
    rows = [row for row in read_rows(refined.settings, "ops.ledger", columns) if row["job"] == "refine"]
    total = {name: sum(row[name] for row in rows) for name in columns[1:]}
    oracle = Oracle.over(refined.bronze.stored)
    assert total["heartbeats"] == oracle.heartbeats == 1
    assert total["rejected"] == len(REJECTED) == len(oracle.rejected)
    assert total["input_rows"] == sum(total[name] for name in columns[2:]) == len(refined.bronze.stored)
