"""The output of `millrace status`."""

import io
import json
from dataclasses import replace
from datetime import datetime, timezone

from rich.console import Console

from millrace.local.process.state_files import one_line
from millrace.local.status.render import last_errors, render
from millrace.local.status.snapshot import Snapshot

WATERMARK = datetime(2026, 3, 1, 9, 50, tzinfo=timezone.utc)
SNAPSHOT = Snapshot(
    home="/somewhere/.millrace",
    state="running",
    kafka="127.0.0.1:9092",
    dashboard="http://127.0.0.1:8501",
    api="http://127.0.0.1:8789",
    processes={
        "broker": {"state": "running", "pid": 11, "since": "2026-03-01T10:00:00Z", "restarts": 0},
        "engine": {
            "state": "backing off",
            "pid": None,
            "restarts": 2,
            "last_error": "code 1: [no]",
        },
    },
    jobs={"ingest": {"state": "running", "batches": 4, "restarts": 1, "last_error": None}},
    rows={"bronze.kafka_records": 12345},
    ledger={"refine": {"batches": 3, "input_rows": 12000, "late": 7, "watermark": WATERMARK}},
    behind={
        "refine": {"upstream": "ingest", "rows": 345, "late": 0, "since": WATERMARK, "seconds": 61.4},
        "repair": {"upstream": "refine", "rows": 2000, "late": 9, "since": WATERMARK, "seconds": 12.3},
    },
    stages=[
        {"stage": "Kafka", "records": 9, "p50": 0.5, "p95": 1.25, "is_slowest": False},
        {"stage": "gold", "records": 9, "p50": 4.0, "p95": 1234.5, "is_slowest": True},
        {"stage": "page", "records": 0, "p50": None, "p95": None, "is_slowest": False},
    ],
    lag={"events/0": 40, "events/1": 2},
    notes=["a note"],
)


def rendered(snapshot, width=160):
    text = io.StringIO()
    Console(width=width, file=text).print(render(snapshot))
    return text.getvalue()


def test_status_shows_processes_jobs_lag_watermark_and_errors():
    text = rendered(SNAPSHOT)
    for part in (
        "events: 42 records",
        "12,345",
        "12,000",
        "2026-03-01 09:50:00 UTC",
        "2,000 rows refined and not repaired yet, 9 of them late, for 12 s",
        "61 s",
        "http://127.0.0.1:8501",
        "http://127.0.0.1:8789/live",
    ):
        assert part in text
    assert "engine: code 1: [no]" in text
    assert [line.split()[0] for line in text.splitlines() if "slowest" in line] == ["gold"]
    assert "1,234.50" in text
    assert "(a note)" in text
    assert json.loads(one_line(SNAPSHOT.as_dict()))["ledger"]["refine"]["watermark"] == "2026-03-01T09:50:00Z"
    assert last_errors(SNAPSHOT) == {"engine": "code 1: [no]"}


def test_large_figures_fit_into_80_columns():
    jobs = {"attribution-model": {"state": "scheduled", "restarts": 12, "next_run": "2026-03-02T03:30:00Z"}}
    counts = dict.fromkeys(("input_rows", "output_rows", "duplicates"), 987_654_321)
    snapshot = replace(
        SNAPSHOT,
        processes={},
        jobs=jobs,
        ledger={"publish": {**counts, "batches": 123_456, "rejected": 99_999, "late": 234_567}},
        behind={"attribution-model": {"rows": 9_999_999, "seconds": 99_999.0}},
    )
    text = rendered(snapshot, 80)
    assert "…" not in text
    for figure in ("987,654,321", "123,456", "99,999", "234,567", "9,999,999", "2026-03-02 03:30"):
        assert figure in text


def test_empty_snapshot_is_rendered():
    assert "stopped" in rendered(Snapshot(home="/x", state="stopped", kafka="127.0.0.1:9092"))
