"""Producer promises through refine: the same in other micro-batches."""

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kit.oracle import Oracle
from kit.oracle_wire import micros
from kit.pipeline import assert_as_the_oracle, read_rows, run_jobs
from kit.records import NOON, Bronze, Record, heartbeat, instant, message, promise, record
from kit.spark import empty_home
from silver.dedup.classify import Counts
from silver.watermark import Progress, advance

MINUTE = timedelta(minutes=1)
SENT = NOON + timedelta(hours=2)
TICK = timedelta(microseconds=1)


def minute(number: int) -> datetime:
    return NOON + number * MINUTE


def event(uid: str, number: int, second: int, partition: int = 0) -> Record:
    """An event at a minute after noon, in Kafka at a second."""
    return record(message(uid, uid, at=minute(number)), timestamp=kafka(second), partition=partition)


def kafka(second: int) -> datetime:
    return SENT + timedelta(seconds=second)


COMMITS = [
    ([event("a", 30, 0), event("b", 20, 1, partition=1)], minute(20), None),
    (
        [
            event("counts", 40, 10, partition=1),
            promise("shop@1", minute(25), kafka(11)),
            event("one that moves nothing", 90, 12, partition=1),
            promise("app", minute(45), kafka(13)),
            promise("shop@2", minute(50), kafka(14)),
        ],
        minute(45) - TICK,
        {"app": minute(45), "shop@1": minute(25), "shop@2": minute(50)},
    ),
    (
        [
            event("at the promise", 45, 20),
            event("late", 44, 20, partition=1),
            event("ahead", 100, 20),
            heartbeat(instant(minute(110))),
        ],
        minute(45) - TICK,
        {"app": minute(45), "shop@1": minute(25), "shop@2": minute(50)},
    ),
    (
        [
            event("still ahead", 99, 30),
            promise("app", "end", kafka(31)),
            promise("shop@1", "end", kafka(31), partition=1),
            event("a copy", 98, 31, partition=2),
            promise("shop@2", "end", kafka(32)),
            event("unheld", 66, 33),
            event("ahead", 100, 33),  # a copy
            promise("app", minute(40), kafka(34)),
            event("held", 97, 35),
        ],
        minute(56),
        {"app": minute(40)},
    ),
    ([event("moves nothing", 96, 40)], minute(56), {"app": minute(40)}),
    ([promise("app", minute(600), kafka(50))], kafka(50) - TICK, {"app": kafka(50)}),
    ([promise("app", "end", kafka(60)), promise("", minute(5), kafka(60))], kafka(50) - TICK, None),
]
"""Records by commit, with the watermark and the promises after it."""


def ledger(settings: Any) -> list[dict[str, Any]]:
    names = ("job", "batch_id", "watermark", "producers", "heartbeats", "rejected", "late")
    rows = [row for row in read_rows(settings, "ops.ledger", names) if row["job"] == "refine"]
    return sorted(rows, key=lambda row: row["batch_id"])


def as_json(live: dict[str, datetime] | None) -> str | None:
    listed = ", ".join(f'"{source}": {micros(at)}' for source, at in (live or {}).items())
    return f"{{{listed}}}" if live else None


@pytest.mark.long
def test_promises_set_watermark_after_each_commit(spark: SparkSession, tmp_path: Path) -> None:
    settings = empty_home(spark, tmp_path, max_batch_rows=1)
    bronze = Bronze(spark, settings)
    for records, reached, _ in COMMITS:
        bronze.commit(records)
        assert Oracle.over(bronze.stored).watermark == micros(reached)
    run_jobs(spark, settings, "refine", "repair")
    rows = ledger(settings)
    assert [row["watermark"] for row in rows] == [micros(reached) for _, reached, _ in COMMITS]
    assert [row["producers"] for row in rows] == [as_json(live) for _, _, live in COMMITS]
    assert [row["heartbeats"] for row in rows] == [0, 3, 1, 4, 0, 1, 1]
    assert [row["rejected"] for row in rows] == [0, 0, 0, 0, 0, 0, 1]
    assert [row["late"] for row in rows] == [0, 0, 1, 0, 0, 0, 0]
    assert_as_the_oracle(settings, Oracle.over(bronze.stored), "silver")


ONE, THREE = (7,), (2, 4, 7)


@pytest.mark.long
@pytest.mark.parametrize("ends", [ONE, THREE])
def test_promised_watermark_is_independent_of_micro_batches(
    spark: SparkSession, tmp_path: Path, ends: tuple[int, ...]
) -> None:
    settings = empty_home(spark, tmp_path)
    bronze = Bronze(spark, settings)
    for number, (records, _, _) in enumerate(COMMITS, 1):
        bronze.commit(records)
        if number in ends:
            run_jobs(spark, settings, "refine")
    rows = ledger(settings)
    found = [(row["watermark"], row["producers"]) for row in rows]
    assert [sum(row[name] for row in rows) for name in ("heartbeats", "rejected")] == [10, 1]
    after = [COMMITS[end - 1] for end in ends]
    assert found == [(micros(reached), as_json(live)) for _, reached, live in after]


def test_batch_without_promise_advances_watermark_without_reading_rows() -> None:
    counts = Counts(Counter(), read=1, refused=0, late=0, latest=micros(minute(30)), promises=0, hours=())
    rows: Any = None
    assert advance(Progress(None, None), rows, counts, 10 * MINUTE) == Progress(minute(20), None)
    live = Progress(minute(5), as_json({"app": minute(6)}))
    assert advance(live, rows, counts, 10 * MINUTE) == Progress(minute(6) - TICK, live.producers)
