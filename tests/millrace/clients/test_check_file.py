"""`millrace load --check`: counts of a file, against a naive count."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.settings import load_settings
from millrace.cli import app, register_commands
from millrace.clients.check_file import check_file
from millrace.clients.rejected import Rejected

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"


def order(number, total):
    properties = {"order_id": str(number), "total": total, "currency": "EUR"}
    return {"type": "track", "event": "Order Completed", "properties": properties}


EVENTS = [
    {"type": "page", "context": {"page": {"url": "https://shop.example/?utm_source=n&utm_medium=email"}}},
    {"type": "page", "context": {"page": {"url": "https://shop.example/"}}},
    order(1, 9.5),
    order(2, 1),
    {"type": "track", "event": "Demo Requested"},
]


@pytest.fixture
def settings(tmp_path):
    return load_settings(home=tmp_path / "home")


@pytest.fixture
def file(tmp_path):
    stamped = [
        {"messageId": str(at), "anonymousId": "ab"[at % 2], "originalTimestamp": f"2026-11-02T1{at}:00:00Z"}
        | event
        for at, event in enumerate(EVENTS)
    ]
    without_id = '{"type": "page", "anonymousId": "a"}'
    lines = [*map(json.dumps, stamped), json.dumps(stamped[0]), "{broken", without_id]
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_check_counts_events_duplicates_goals_and_rejections(settings, file):
    found = check_file(settings, str(file), "segment", None)
    assert (found.events, found.copies, found.visitors) == (5, 1, 2)
    assert found.roles == {"page_view": 2, "goal": 2, "other": 1}
    assert found.goals == {("Order Completed", "EUR"): (2, Decimal("10.5"))}
    assert found.channels == {"Email": 1}
    assert found.rejected == {"not_json": 1, "no_message_id": 1}
    assert found.rejected_first == {"not_json": 7, "no_message_id": 8}
    assert (found.first.hour, found.last.hour) == (10, 14)


def test_file_with_byte_order_mark_loses_no_event(settings):
    found = check_file(settings, str(CASES / "29-bom" / "input.jsonl"), "segment", None)
    assert (found.events, found.rejected) == (2, {})


def test_check_of_auto_says_what_the_file_was_taken_for(settings, file, monkeypatch):
    monkeypatch.setenv("MILLRACE_HOME", str(settings.home))
    if not app.registered_commands:
        register_commands()
    log = CASES / "01-vhost-log" / "input.log"
    checked = CliRunner().invoke(app, ["load", str(log), "--format", "auto", "--check", "--json"])
    assert checked.stderr == "taken for: combined log with virtual hosts\n"
    found = json.loads(checked.stdout)
    assert (found["taken_for"], found["visitors"]) == ("combined log with virtual hosts", 2)
    named = CliRunner().invoke(app, ["load", str(file), "--format", "segment", "--check"])
    assert "taken for" not in named.output


def test_check_prints_what_the_file_lacks(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path / "home"))
    if not app.registered_commands:
        register_commands()
    stamp = {"messageId": "1", "anonymousId": "a", "originalTimestamp": "2026-11-02T10:00:00Z"}
    path = tmp_path / "events.jsonl"
    path.write_text(
        json.dumps(stamp | order(1, "much")) + "\n" + json.dumps({"user_id": "u", "type": "page"})
    )
    call = ["load", str(path), "--format", "auto", "--check"]
    printed = CliRunner().invoke(app, call).stdout
    at = printed.index("what the file lacks, the costliest first")
    value = printed.index("1  orders whose value cannot be read, first in line 1: much", at)
    assert printed.index("first in line 2: user_id", value) > value
    lacks = json.loads(CliRunner().invoke(app, [*call, "--json"]).stdout)["lacks"]
    assert lacks[0] == {"kind": "unreadable_value", "events": 1, "first_line": 1, "first": "much"}


def test_case_of_placeholder_ids_names_keys_in_snake_case(settings):
    found = check_file(settings, str(CASES / "20-placeholder-ids" / "input.jsonl"), "auto", None)
    (gap,) = [gap for gap in found.gaps if gap.kind == "snake_case_id"]
    assert (gap.events, gap.example) == (1, "anonymous_id, user_id")


def test_check_writes_no_files(settings, file, tmp_path):
    log = tmp_path / "access.log"
    log.write_text("no entry\n")
    assert check_file(settings, str(log), "access-log", "shop.example").unreadable.reasons.total() == 1
    check_file(settings, str(file), "segment", None)
    assert not (settings.home / "manifests").exists()
    assert not Rejected(settings.home, "x").path.parent.exists()


def test_check_of_file_without_goals_suggests_candidates(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path / "home"))
    path = tmp_path / "events.jsonl"
    event = {"messageId": "1", "type": "track", "event": "Demo Requested", "anonymousId": "a"}
    path.write_text(json.dumps(event | {"originalTimestamp": "2026-11-02T10:00:00Z"}))
    if not app.registered_commands:
        register_commands()
    printed = CliRunner().invoke(app, ["load", str(path), "--format", "segment", "--check"])
    assert printed.exit_code == 0
    assert "conf/roles.yml" in printed.output
    assert "Candidates: Demo Requested" in printed.output
    as_json = CliRunner().invoke(app, ["load", str(path), "--format", "segment", "--check", "--json"])
    assert json.loads(as_json.stdout)["roles"] == {"other": 1}
