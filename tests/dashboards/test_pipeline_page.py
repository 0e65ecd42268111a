"""The Pipeline page lists the tables of the contracts and the jobs of the ledger."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import viewer

from kit.sample_warehouse import ledger_rows
from kit.warehouse_builder import append_rows
from lakehouse.access.mask_key import MaskKey
from lakehouse.access.policy import ADMIN
from lakehouse.access.role import Role
from lakehouse.contracts import TABLES
from lakehouse.contracts.table import STALE_AFTER

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


def test_slowest_stage_is_named(open_page: Any, tmp_path: Path) -> None:
    record = {"topic": "events", "partition": 0, "offset": 1, "timestamp": NOW - timedelta(seconds=3)}
    append_rows(tmp_path, "bronze.kafka_records", [{**record, "ingested_at": NOW}])
    seconds = {"ingest": 2.0, "refine": 42.0, "publish": 50.0}
    rows = [{**row, "started_at": NOW, "seconds": seconds[row["job"]]} for row in ledger_rows(NOW, NOW)]
    append_rows(tmp_path, "ops.ledger", rows)
    page = open_page(tmp_path, "pipeline")
    stages = next(each.value for each in page.dataframe if "stage" in each.value).set_index("stage")
    shown = stages["p95"].dropna().round(3).to_dict()
    assert shown == {"Kafka": 3, "bronze": 2, "silver": 40, "gold": 8, "to gold": 53}
    assert stages["slowest"].to_dict()["silver"] == "slowest"
    assert any("Where the time goes: silver" in each.value for each in page.markdown)


@pytest.mark.parametrize(
    ("behind", "state"), [(STALE_AFTER, ""), (STALE_AFTER + timedelta(seconds=1), "stale")]
)
def test_new_table_is_shown_with_its_job_and_state(
    behind: timedelta, state: str, open_page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = replace(TABLES["gold.touches"], name="gold.new", inputs=("gold.touches",), writer="a new job")
    on_schedule = replace(new, name="gold.on_schedule", cadence="schedule")
    for table in (new, on_schedule):
        monkeypatch.setitem(TABLES, table.name, table)
        append_rows(tmp_path, table.name, [{"touch_id": "t"}])
    admin = Role(ADMIN, MaskKey(tmp_path), tuple(TABLES))
    monkeypatch.setattr(viewer, "role", lambda: admin)
    append_rows(tmp_path, "gold.touches", [{"touch_id": "t"}])
    rows = ledger_rows(NOW, NOW)
    latest = next(row for row in rows if row["job"] == "publish")
    append_rows(tmp_path, "ops.ledger", [*rows, {**latest, "job": "a new job", "position": NOW - behind}])
    page = open_page(tmp_path, "pipeline")
    jobs, _, tables = (each.value for each in page.dataframe)
    assert jobs["job"].to_list() == ["ingest", "refine", "publish", "a new job"]
    shown = tables.set_index("table")
    assert shown["state"].to_dict() == {
        "gold.touches": "",
        "ops.ledger": "",
        "gold.new": state,
        "gold.on_schedule": "",
    }
    assert shown["writer"]["gold.new"] == "a new job"
