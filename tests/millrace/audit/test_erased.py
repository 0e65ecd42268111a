"""Erased records are counted by the audit: while an erasure runs, after it, and when copies arrive later."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from kit.warehouse_builder import append_rows
from lakehouse.settings import Settings, load_settings
from millrace.audit.comparisons import audit_tables
from millrace.tables.table_scan import reading, scan

STAMP = datetime(2026, 11, 28, tzinfo=timezone.utc)
EVENTS, DUPLICATES, REJECTED = "silver.events", "silver.duplicate_events", "silver.rejected_events"
LEFT = {EVENTS: [0, 1, 2], DUPLICATES: [3], REJECTED: [4]}
"""Offsets of the rows before the erasure; 5 is a heartbeat."""


def at(offset: int, **more: Any) -> dict[str, Any]:
    place = {"topic": "events", "partition": 0, "offset": offset, "ingested_at": STAMP}
    return {**place, "event_id": f"e{offset}", **more}


def home(path: Path, gone: set[int], erased: dict[int, str], arrived: int = 0) -> Settings:
    """A home in which some rows are gone, and some records are listed as erased."""
    count = 6 + arrived
    append_rows(path, "bronze.kafka_records", [at(offset) for offset in range(count)])
    for name, offsets in LEFT.items():
        append_rows(path, name, [at(offset) for offset in offsets if offset not in gone])
    listed = erased | {6 + number: "arrived" for number in range(arrived)}
    rows = [at(offset, record_class=kind) for offset, kind in listed.items()]
    append_rows(path, "ops.erased_records", rows)
    counts = {"output_rows": 3, "duplicates": 1, "rejected": 1, "heartbeats": 1, "erased": arrived}
    refine = {"job": "refine", "batch_id": 0, "input_rows": count, "position": STAMP, **counts}
    ingest = {"job": "ingest", "batch_id": 0, "input_rows": count, "position": STAMP, "output_rows": count}
    append_rows(path, "ops.ledger", [refine, ingest])
    return load_settings(home=path)


def wrong(settings: Settings) -> list[str]:
    with reading(settings):
        bronze = scan(settings, "bronze.kafka_records")
        assert bronze is not None
        return [each.what for each in audit_tables(settings, bronze) if not each.is_right]


@pytest.mark.parametrize("gone", [set(), {1}, {1, 3}, {1, 3, 4}])
def test_erasure_is_right_at_any_moment(tmp_path: Path, gone: set[int]) -> None:
    erased = {1: "event", 3: "duplicate", 4: "rejected"}
    assert wrong(home(tmp_path, gone, erased, arrived=2)) == []


def test_rows_that_are_gone_without_an_erasure_are_missed(tmp_path: Path) -> None:
    found = wrong(home(tmp_path, {1, 2}, {1: "event"}))
    assert found == [
        "ledger of refine: silver.events",
        "bronze = silver",
        "every record by its place",
    ]


@pytest.mark.parametrize("gone", [set(), {0}, {0, 1}, {0, 1, 2}])
def test_erasure_of_a_customer_is_right_at_any_moment(tmp_path: Path, gone: set[int]) -> None:
    """Offsets 0 and 3 are changes, 1 and 4 rejected, 2 and 5 tombstones, of which the first is erased."""
    kinds = ("change", "rejected", "tombstone")
    of_shop = [at(offset, topic="shop_changes") for offset in range(6)]
    blank = {"key": None, "value": None}
    content = {0: {"value": b"{}"}, 1: {"value": b"bad"}, 2: {"key": b"key"}}
    bronze = [
        row | blank | ({} if offset in gone else content[offset % 3]) for offset, row in enumerate(of_shop)
    ]
    append_rows(tmp_path, "bronze.kafka_records", bronze)
    left = [row for offset, row in enumerate(of_shop) if offset not in gone]
    append_rows(tmp_path, "silver.shop_changes", [row for row in left if row["offset"] % 3 == 0])
    append_rows(tmp_path, "silver.rejected_changes", [row for row in left if row["offset"] % 3 == 1])
    erased = [of_shop[offset] | {"record_class": kind} for offset, kind in enumerate(kinds)]
    append_rows(tmp_path, "ops.erased_records", erased)
    jobs = [{"job": job, "batch_id": 0, "position": STAMP} for job in ("ingest", "dimensions")]
    append_rows(tmp_path, "ops.ledger", [{**each, "input_rows": 6, "output_rows": 6} for each in jobs])
    assert wrong(load_settings(home=tmp_path)) == []


def test_record_that_is_listed_but_did_not_arrive_is_wrong(tmp_path: Path) -> None:
    settings = home(tmp_path, set(), {}, arrived=1)
    append_rows(tmp_path, "ops.erased_records", [at(9, record_class="arrived")])
    assert "ledger of refine: ops.erased_records" in wrong(settings)
