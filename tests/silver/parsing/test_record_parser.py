"""Parsing in Spark: the same rows as the pure function gives, for any batch size."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from folds.records.outcomes import Record as Sent
from folds.records.parse import parse as parse_record
from kit import hostile
from kit.oracle_wire import micros
from kit.parser import FIELDS, RULES, TIMES, parse
from kit.records import SENT, Record, Stored, heartbeat, in_bronze, promise, rate
from lakehouse.errors import MillraceError
from silver.parsing import parse_worker
from silver.parsing.record_parser import RecordParser, naming_missing_packages

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
RATES = [rate("usd", 0.92, SENT), rate("USD", "1e-400", SENT), rate("US", 1, SENT), rate("EUR", 1, "now")]


def candidates(spark: SparkSession, records: list[Record], partitions: int) -> list[dict[str, Any]]:
    stored = [Stored(each, number, SENT + timedelta(days=1)) for number, each in enumerate(records)]
    frame = RecordParser(RULES, ("exchange_rates", "campaign_costs")).parse(
        in_bronze(spark, stored).repartition(partitions)
    )
    times = [*TIMES, "heartbeat_at", "promised_at", "valid_from", "ingested_at", "timestamp"]
    names = [name for name in (*FIELDS, "reason", "promise_source", "rate") if name not in times]
    hashed = (F.xxhash64("event_id") == F.col("event_hash")).alias("hashed")
    rows = frame.select("offset", "raw", hashed, *names, *(F.unix_micros(name).alias(name) for name in times))
    return [row.asDict() for row in rows.orderBy("offset").collect()]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_spark_rows_equal_pure_function_rows_for_any_batch_size(spark: SparkSession, size: int) -> None:
    records = [*hostile.make_up(150), heartbeat("2026-03-01T12:00:00Z"), *RATES, Record(None), Record(b"")]
    records += [promise("shop@1", SENT), promise("shop@1", "end"), promise("", SENT)]
    before = spark.conf.get(BATCH)
    spark.conf.set(BATCH, str(size))
    try:
        rows = candidates(spark, records, partitions=3)
    finally:
        spark.conf.set(BATCH, before)
    assert [row["offset"] for row in rows] == list(range(len(records)))
    for row, record, wanted in zip(rows, records, parse(records), strict=True):
        assert {name: row[name] for name in wanted} == wanted
        assert row["raw"] == (record.value if wanted["reason"] else None)
        assert row["timestamp"] == micros(record.timestamp)
        assert row["ingested_at"] == micros(SENT + timedelta(days=1))
        assert row["hashed"] is not False


def test_no_records_give_no_rows(spark: SparkSession) -> None:
    assert candidates(spark, [], partitions=1) == []


def test_record_that_crashes_the_parser_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(record: Sent, rules: object) -> None:
        raise KeyError("a mistake")

    monkeypatch.setattr(parse_worker, "parse", fail)
    sent = Sent(b"{}", 5)
    assert parse_worker._outcome(sent, RULES).reason == "parser_error"
    assert parse_record(sent, RULES).reason == "no_message_id"


def test_missing_package_is_named_in_one_line() -> None:
    with pytest.raises(MillraceError, match="no package folds"), naming_missing_packages():
        raise PySparkException("...\nModuleNotFoundError: No module named 'folds'\n...")
