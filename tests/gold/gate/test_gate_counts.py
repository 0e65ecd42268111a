"""The gate counts new rows of silver: against an oracle of plain loops, and within few Spark jobs."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from gold.gate.gate_checks import GateChecks
from kit.frames import frame_of
from kit.strict_gate import strict_home
from lakehouse.delta.delta_tables import Lakehouse
from lakehouse.run.batch_counters import BatchCounter
from lakehouse.run.job import JobContext
from lakehouse.run.ledger import Entry
from lakehouse.settings import Settings

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MIDNIGHT = datetime(2026, 3, 2, tzinfo=timezone.utc)
STAMPS = datetime(2026, 6, 2, tzinfo=timezone.utc)
NOT_NULL, NOT_IN_SET = "expect_column_values_to_not_be_null", "expect_column_values_to_not_be_in_set"
BETWEEN = "expect_column_values_to_be_between"
EVENTS, REJECTED, COPIES = "silver.events", "silver.rejected_events", "silver.duplicate_events"
IMPRESSIONS = "silver.impressions"
SUITES: dict[str, dict[str, Any]] = {
    EVENTS: {
        "columns": {"code": "upper(currency)"},
        "expectations": [
            {"name": "all", "expect": "expect_table_row_count_to_equal", "value": {"$PARAMETER": "records"},
             "of": "records"},
            {"name": "url", "expect": NOT_NULL, "column": "url"},
            {"name": "currency", "expect": "expect_column_values_to_be_in_set", "column": "code",
             "value_set": ["EUR"]},
            {"name": "value", "expect": BETWEEN, "column": "value", "min_value": 0, "where": "code = 'EUR'"},
            {"name": "volume", "expect": BETWEEN, "column": "volume", "min_value": 0.5,
             "where": "events_before >= 2", "of": "hours"},
        ],
    },
    REJECTED: {
        "contract": "stop",
        "expectations": [
            {"name": "few", "expect": "expect_column_values_to_be_null", "column": "reason", "of": "records"},
            {"name": "known", "expect": NOT_IN_SET, "column": "reason", "value_set": ["worse"]},
        ],
    },
    COPIES: {
        "expectations": [
            {"name": "few", "expect": NOT_IN_SET, "column": "_table", "value_set": [COPIES], "of": "records"}
        ]
    },
    IMPRESSIONS: {
        "expectations": [
            {"name": "orphans", "expect": NOT_IN_SET, "column": "outcome", "value_set": ["orphan"],
             "where": "outcome IN ('clicked', 'orphan')"}
        ]
    },
}  # fmt: skip


@pytest.fixture
def settings(spark: SparkSession, tmp_path: Path) -> Iterator[Settings]:
    with strict_home(spark, tmp_path) as settings:
        folder = tmp_path / "bundle" / "conf" / "expectations"
        for file in folder.glob("*.yml"):
            file.unlink()
        for table, suite in SUITES.items():
            (folder / f"{table}.yml").write_text(yaml.safe_dump(suite))
        yield settings


@dataclass
class Silver:
    """Generated rows of silver, committed as refine commits them."""

    spark: SparkSession
    settings: Settings
    chance: random.Random
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {name: [] for name in SUITES})
    entries: list[Entry] = field(default_factory=list)

    def commit(self, begin: datetime, watermark: datetime) -> Entry:
        """One micro-batch, with event times in the hour from `begin`."""
        number = len(self.entries)
        stamp = STAMPS + number * timedelta(seconds=1)
        new = {
            EVENTS: [self._event(f"{number}-{each}", begin) for each in range(self.chance.randint(0, 9))],
            REJECTED: [self._rejected() for _ in range(self.chance.randint(0, 3))],
            COPIES: [{"event_id": "copy"} for _ in range(self.chance.randint(0, 3))],
            IMPRESSIONS: [self._impression(begin) for _ in range(self.chance.randint(0, 5))],
        }
        lake = Lakehouse(self.spark, self.settings, "refine")
        for name, rows in new.items():
            stamped = [row if name == IMPRESSIONS else {**row, "ingested_at": stamp} for row in rows]
            lake.append(name, frame_of(self.spark, name, stamped), upto=stamp)
            self.rows[name] += stamped
        read = sum(len(new[name]) for name in (EVENTS, REJECTED, COPIES)) + self.chance.choice([0, 0, 1])
        more: dict[str, Any] = {"heartbeats": 3, "erased": 2, "watermark": watermark}
        self.entries.append(Entry("refine", number, stamp, stamp, 1.0, read + 5, **more))
        return self.entries[-1]

    def _event(self, uid: str, begin: datetime) -> dict[str, Any]:
        return {
            "event_id": uid,
            "event_time": begin + self.chance.random() * HOUR,
            "url": self.chance.choice(["https://shop.example/", None]),
            "currency": self.chance.choice(["eur", "EUR", "USD", None]),
            "value": self.chance.choice([None, Decimal(-1), Decimal(0), Decimal(5)]),
        }

    def _rejected(self) -> dict[str, Any]:
        topic = self.chance.choice(["events", self.settings.exchange_rates_topic])
        return {"reason": self.chance.choice(["bad", "worse"]), "topic": topic, "value": b"{"}

    def _impression(self, begin: datetime) -> dict[str, Any]:
        outcome = self.chance.choice(["clicked", "orphan", "open"])
        return {"event_time": begin + self.chance.random() * HOUR, "outcome": outcome, "is_open": False}


def counts_wanted(silver: Silver, last: Entry | None, done: list[Entry]) -> dict[str, tuple[int, int]]:
    """By plain loops: rows in scope, and how many of these violate the expectation."""
    after, upto = last.position if last else datetime.min.replace(tzinfo=timezone.utc), done[-1].position
    new = {
        name: [row for row in silver.rows[name] if after < row["ingested_at"] <= upto]
        for name in (EVENTS, REJECTED, COPIES)
    }
    events, copies = new[EVENTS], new[COPIES]
    of_topic = [row for row in new[REJECTED] if row["topic"] == "events"]
    records = len(events) + len(of_topic) + len(copies)
    sent = sum(entry.input_rows - entry.heartbeats - entry.erased for entry in done)
    priced = [
        row["value"]
        for row in events
        if (row["currency"] or "").upper() == "EUR" and row["value"] is not None
    ]
    named = [row["currency"] for row in events if row["currency"]]
    seen = [
        row["outcome"]
        for row in silver.rows[IMPRESSIONS]
        if row["outcome"] != "open" and (not last or row["event_time"] > last.watermark)
    ]
    keys = {f"{REJECTED}: {key} is filled": sum(row.get(key) is None for row in new[REJECTED])
            for key in ("topic", "partition", "offset")}  # fmt: skip
    return {
        f"{EVENTS}: all": (max(records, sent), abs(records - sent)),
        f"{EVENTS}: url": (len(events), sum(row["url"] is None for row in events)),
        f"{EVENTS}: currency": (len(named), sum(name.upper() != "EUR" for name in named)),
        f"{EVENTS}: value": (len(priced), sum(value < 0 for value in priced)),
        f"{REJECTED}: few": (records, len(of_topic)),
        f"{REJECTED}: known": (len(new[REJECTED]), sum(row["reason"] == "worse" for row in new[REJECTED])),
        f"{COPIES}: few": (records, len(copies)),
        f"{IMPRESSIONS}: orphans": (len(seen), seen.count("orphan")),
        **{name: (len(new[REJECTED]), missing) for name, missing in keys.items()},
        **hours_wanted(silver, last, done),
    }


def hours_wanted(silver: Silver, last: Entry | None, done: list[Entry]) -> dict[str, tuple[int, int]]:
    before, now = last.watermark if last else MIDNIGHT - 10 * DAY, done[-1].watermark
    assert before is not None
    assert now is not None
    end = now.replace(minute=0, second=0, microsecond=0)
    begin = max(before.replace(minute=0, second=0, microsecond=0), end - 2 * DAY)
    if begin >= end:
        return {}
    hours = [begin + number * HOUR for number in range((end - begin) // HOUR)]
    at = [row["event_time"].replace(minute=0, second=0, microsecond=0) for row in silver.rows[EVENTS]]
    busy = [(at.count(hour), at.count(hour - DAY)) for hour in hours if at.count(hour - DAY) >= 2]
    return {f"{EVENTS}: volume": (len(busy), sum(now < then / 2 for now, then in busy))}


def counts_found(checks: GateChecks, last: Entry | None, done: list[Entry]) -> dict[str, tuple[int, int]]:
    after = last.position if last else datetime(1970, 1, 1, tzinfo=timezone.utc)
    results = checks.evaluate(after, done[-1].position, (last, done))
    return {
        result.expectation.id: (result.rows, result.unexpected)
        for result in results
        if result.expectation.name != "has the columns declared"
    }


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_counts_match_plain_loops(spark: SparkSession, settings: Settings, seed: int) -> None:
    silver = Silver(spark, settings, random.Random(seed))
    checks = GateChecks(JobContext("publish", spark.newSession(), settings, once=True))
    last, waiting = None, []
    for day in (0, 1):
        for hour in range(3):
            begin = MIDNIGHT + day * DAY + hour * HOUR
            waiting.append(silver.commit(begin, begin + silver.chance.choice([1, 70]) * HOUR / 60))
            if silver.chance.random() < 0.7:
                assert counts_found(checks, last, waiting) == counts_wanted(silver, last, waiting)
                last, waiting = waiting[-1], []


@pytest.mark.long
def test_micro_batch_is_counted_in_few_spark_jobs(spark: SparkSession, settings: Settings) -> None:
    """One aggregate, and one job of Delta for each table whose files it lists. Hours take their own."""
    silver = Silver(spark, settings, random.Random(1))
    last = silver.commit(MIDNIGHT, MIDNIGHT + HOUR / 2)
    run = JobContext("publish", spark.newSession(), settings, once=True)
    checks = GateChecks(run)
    counts_found(checks, None, [last])
    for begin, most in ((MIDNIGHT, 5), (MIDNIGHT + DAY, 7)):
        entry = silver.commit(begin, begin + 0.6 * HOUR)
        counter = BatchCounter(run.spark, run.lake.counter)
        counts_found(checks, last, [entry])
        jobs = counter.counts().spark_jobs
        assert jobs is not None
        assert jobs <= most
        last = entry
