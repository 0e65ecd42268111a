"""The backlog of each job behind its upstream job, read from the ledger."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

from kit.warehouse_builder import append_rows
from lakehouse.settings import load_settings
from millrace.tables.table_reader import behind

START = datetime(2026, 3, 1, tzinfo=timezone.utc)


def entry(job: str, number: int, position: int, rows: int, late: int = 0) -> dict[str, object]:
    at = START + timedelta(seconds=position)
    counts = {"input_rows": rows, "late": late, "started_at": at + timedelta(minutes=number), "seconds": 1.5}
    return {"job": job, "batch_id": number, "position": at, **counts}


def test_backlog_is_counted_behind_upstream_job(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path)
    assert behind(settings) == {}
    rows = [entry("ingest", number, number, 10) for number in range(6)]
    rows += [entry("refine", 0, 1, 20, late=4), entry("refine", 1, 2, 10, late=3), entry("refine", 2, 4, 20)]
    rows += [entry("repair", 0, 1, 20, late=4)]
    append_rows(tmp_path, "ops.ledger", rows)
    found = behind(settings)
    assert {
        job: (reported["upstream"], reported["rows"], reported["late"]) for job, reported in found.items()
    } == {
        "refine": ("ingest", 10, 0),
        "repair": ("refine", 30, 3),
        "publish": ("refine", 50, 7),
    }
    ready = START + timedelta(seconds=2 + 1.5, minutes=1)
    assert found["repair"]["since"] == ready
    age = (datetime.now(timezone.utc) - ready).total_seconds()
    assert age - 60 < found["repair"]["seconds"] <= age + 1


def test_caught_up_job_has_no_backlog(tmp_path: Path) -> None:
    append_rows(tmp_path, "ops.ledger", [entry("ingest", 0, 0, 5), entry("refine", 0, 0, 5)])
    reported = behind(load_settings(home=tmp_path))
    assert reported["refine"] == {"upstream": "ingest", "rows": 0, "late": 0, "since": None, "seconds": 0.0}
    assert reported["repair"]["rows"] == 5
