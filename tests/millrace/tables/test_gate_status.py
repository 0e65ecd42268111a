"""`millrace quality`: state of the gate, reasons and held rows, read from tables without Spark."""

import json
import shlex
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kit.warehouse_builder import append_rows
from lakehouse.settings import load_settings
from millrace import cli
from millrace.tables.gate_status import explain, is_held

AFTER = datetime(2026, 3, 1, tzinfo=timezone.utc)
UPTO = AFTER + timedelta(seconds=5)
WORTH = "silver.events: orders are not worth too much"
REFUSED = "silver.rejected_events: few records are refused"
ORPHANS = "silver.impressions: clicks are on something that was seen"


def gate_event(sequence: int, state: str, **more: Any) -> dict[str, Any]:
    reported = {"run_id": "r", "after": AFTER, "upto": UPTO, "reasons": [WORTH, REFUSED, ORPHANS], "at": UPTO}
    return {"sequence": sequence, "state": state, **reported, **more}


def event(uid: str, ingested_at: datetime = UPTO, **more: Any) -> dict[str, Any]:
    order = {"goal": "Order Completed", "currency": "eur", "value": Decimal(50_000)}
    times = {"event_time": AFTER, "arrival_time": AFTER, "ingested_at": ingested_at}
    return {"event_id": uid, "visitor_id": "v", **order, **times, **more}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    events = [
        event("held"),
        event("published", AFTER),
        event("fine", value=Decimal(5)),
        event("another currency", currency="JPY"),
        event("click", goal=None),
    ]
    append_rows(tmp_path, "silver.events", events)
    refused = {"reason": "not_json", "value": b"{no", "topic": "t", "partition": 0, "offset": 7}
    append_rows(tmp_path, "silver.rejected_events", [{**refused, "arrival_time": AFTER, "ingested_at": UPTO}])
    seen = {"visitor_id": "v", "promotion_id": "p", "event_time": AFTER, "is_open": False}
    impressions = [
        {**seen, "event_id": "click", "outcome": "orphan"},
        {**seen, "event_id": "old", "outcome": "orphan"},
    ]
    append_rows(tmp_path, "silver.impressions", impressions)
    return tmp_path


def run(*arguments: str) -> Any:
    if not cli.app.registered_groups:
        cli.register_commands()
    return CliRunner().invoke(cli.app, ["quality", *arguments])


def test_gate_that_was_never_closed_is_open(home: Path) -> None:
    done = run()
    assert done.exit_code == 0
    assert "open" in done.output


def test_closed_gate_exits_1_and_prints_failed_expectation(home: Path) -> None:
    append_rows(home, "ops.gates", [gate_event(0, "closed")])
    done = run()
    assert done.exit_code == 1
    assert WORTH in done.output
    reported = json.loads(run("--json").output)
    assert (reported["held"], reported["gate"]["state"]) == (True, "closed")


def test_gate_is_held_during_replay(home: Path) -> None:
    append_rows(home, "ops.gates", [gate_event(0, "closed"), gate_event(1, "replayed")])
    assert is_held(load_settings(home=home))


def test_released_gate_prints_user_and_reason(home: Path) -> None:
    append_rows(
        home, "ops.gates", [gate_event(0, "closed"), gate_event(1, "released", who="Ada", why="as it was")]
    )
    done = run()
    assert done.exit_code == 0
    assert "released by Ada: as it was" in done.output


def test_explain_lists_held_rows_only(home: Path) -> None:
    append_rows(home, "ops.gates", [gate_event(0, "closed")])
    worth, refused, orphans = explain(load_settings(home=home))
    assert (worth.expectation, refused.expectation, orphans.expectation) == (WORTH, REFUSED, ORPHANS)
    assert [row["event_id"] for row in worth.rows] == ["held"]
    (row,) = refused.rows
    assert (row["reason"], row["offset"], row["value"]) == ("not_json", 7, "{no")
    assert [row["event_id"] for row in orphans.rows] == ["click"]
    reported = run("explain", "worth too much")
    assert reported.exit_code == 0
    assert shlex.split(reported.output.splitlines()[1]) == ["millrace", "sql", worth.query], "can be pasted"


def test_explain_lists_rows_of_tables_without_ingest_stamp(home: Path) -> None:
    table, name = "gold.conversions", "money has a rate"
    append_rows(home, table, [{"conversion_id": "c", "value": Decimal(5), "converted_at": AFTER}])
    failed = {"run_id": "r", "run_at": UPTO, "after": AFTER, "upto": UPTO, "success": False}
    append_rows(home, "ops.expectations", [{"table": table, "name": name, **failed}])
    (money,) = explain(load_settings(home=home))
    assert money.rows == [
        {"conversion_id": "c", "event_id": None, "visitor_id": None}
        | {"converted_at": AFTER.replace(tzinfo=None), "reporting_value": None}
    ]


def test_unknown_expectation_is_rejected(home: Path) -> None:
    assert "there is no expectation" in str(run("explain", "nonsense").exception)
