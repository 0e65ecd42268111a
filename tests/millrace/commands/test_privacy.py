"""`millrace privacy` and `millrace export-person`, from a home's tables to a verified certificate."""

import json
import stat
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from kit.access import write_policy
from kit.warehouse_builder import build_warehouse, replace_rows
from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.cli import app, register_commands
from millrace.local.status.snapshot import take_snapshot
from millrace.operations import privacy_search
from privacy.search.topic_search import Record

AT = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
USER, VISITOR = "user-1234567", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
WHO = ("--user", USER, "--visitor", VISITOR)
ROLES = """
roles:
  analyst: {tables: ["gold.*"]}
  privacy: {tables: ["gold.*"]}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    monkeypatch.setenv("MILLRACE_HOME", str(path))
    span = {"visitor_id": VISITOR, "user_id": USER, "event_id": "e1", "identified_at": AT}
    event = {"event_id": "e1", "visitor_id": VISITOR, "user_id": USER, "event_time": AT, "value": 5}
    build_warehouse(path, {"silver.events": [event], "silver.identities": [span]})
    return path


def invoke(*arguments: str) -> Result:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, arguments)
    if answer.exception and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    return answer


def searched(*arguments: str) -> tuple[int, dict[str, Any]]:
    answer = invoke("privacy", "search", *arguments, "--json")
    return answer.exit_code, json.loads(answer.stdout)


def erase(home: Path) -> None:
    """Remove all that names the person, the old files too."""
    for file in (*home.rglob("*.parquet"), *home.rglob("*.json")):
        file.unlink()


def test_person_is_exported_as_json_lines(home: Path, tmp_path: Path) -> None:
    answer = invoke("export-person", "--user", USER)
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    assert [row["table"] for row in rows] == ["silver.events", "silver.identities"]
    assert rows[0]["row"]["event_time"] == "2026-11-01T12:00:00Z"
    assert rows[0]["row"]["value"] == "5.0000"
    assert invoke("export-person", "--visitor", VISITOR).stdout == answer.stdout
    file = tmp_path / "person.jsonl"
    invoke("export-person", "--user", USER, "--out", str(file))
    assert file.read_text() == answer.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(MillraceError, match="can't be written"):
        invoke("export-person", "--user", USER, "--out", str(file))


def test_unknown_person_is_named(home: Path) -> None:
    answer = invoke("export-person", "--user", "nobody")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr == "Nothing is stored of user nobody.\n"


@pytest.mark.parametrize("arguments", [(), ("--user", "a", "--visitor", "b")])
def test_export_is_of_one_person(home: Path, arguments: tuple[str, ...]) -> None:
    with pytest.raises(MillraceError, match="either --user or --visitor"):
        invoke("export-person", *arguments)


def test_search_finds_the_visitors_of_a_user(home: Path) -> None:
    code, found = searched("--user", USER)
    assert (code, found["identifiers"], found["not_searched"]) == (1, 2, [])
    parts = {place["part"] for place in found["found"] if "/events/part-" in place["file"]}
    assert parts >= {"column visitor_id", "column user_id", "footer"}
    assert any("/_delta_log/" in place["file"] for place in found["found"])
    table = invoke("privacy", "search", "--user", USER)
    assert "column visitor_id" in table.stdout


def test_search_for_somebody_else_finds_nothing(home: Path) -> None:
    code, found = searched("--user", "user-7654321", "--also", "ann@shop.example")
    assert (code, found["identifiers"], found["found"]) == (0, 2, [])
    assert found["files"] == len([file for file in home.rglob("*") if file.is_file()])
    with pytest.raises(MillraceError, match="nothing to find"):
        invoke("privacy", "search")


def test_file_that_cannot_be_searched_changes_the_exit_code(home: Path) -> None:
    (home / "damaged.parquet").write_bytes(b"PAR1 and nothing")
    code, found = searched("--user", "user-7654321")
    assert (code, [each["file"] for each in found["not_searched"]]) == (3, ["damaged.parquet"])


def test_topic_is_searched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [Record(0, USER.encode(), None), Record(1, None, b"{}")]
    monkeypatch.setattr(privacy_search, "_records", lambda settings, topic: iter(records))
    erase(home)
    code, found = searched("--user", USER, "--topic", "events")
    assert (code, found["topics"]) == (1, {"events": 2})
    assert found["found"] == [{"file": "topic events/0", "part": "key", "encoding": "text", "times": 1}]


def test_request_is_opened_and_proven_once_nothing_is_left(home: Path, tmp_path: Path) -> None:
    opened = invoke("privacy", "open", "--user", USER, "--reference", "letter 7")
    assert opened.stdout == "2026-0001\n" or opened.stdout.endswith("-0001\n")
    number = opened.stdout.strip()
    assert f"--visitor {VISITOR}" in opened.stderr
    assert searched("--user", USER)[1]["found"]
    assert not [
        place for place in searched("--user", USER)[1]["found"] if place["file"].startswith("privacy/")
    ]
    found = invoke("privacy", "prove", number, "--user", USER, "--out", str(tmp_path / "first.json"))
    assert found.exit_code == 1
    says = json.loads(invoke("privacy", "verify", str(tmp_path / "first.json")).stdout)
    assert says["found"]
    erase(home)
    with pytest.raises(MillraceError, match="1 more identities"):
        invoke("privacy", "prove", number, "--user", USER)
    proven = invoke("privacy", "prove", number, *WHO, "--out", str(tmp_path / "second.json"))
    assert (proven.exit_code, proven.stdout) == (0, f"nothing was found: {tmp_path / 'second.json'}\n")
    (row,) = [json.loads(line) for line in invoke("privacy", "requests", "--json").stdout.splitlines()]
    assert (row["state"], row["note"], row["reference"]) == ("proven", "nothing was found", "letter 7")
    assert json.loads(invoke("privacy", "verify", str(tmp_path / "second.json")).stdout)["found"] == []


def test_certificate_is_verified_elsewhere_with_the_public_key(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = invoke("privacy", "open", *WHO, "--reference", "letter 7").stdout.strip()
    file = tmp_path / "certificate.json"
    invoke("privacy", "prove", number, *WHO, "--out", str(file))
    key = invoke("privacy", "key").stdout.strip()
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(MillraceError, match="has signed no certificate"):
        invoke("privacy", "verify", str(file))
    assert invoke("privacy", "verify", str(file), "--public-key", key).exit_code == 0
    file.write_bytes(file.read_bytes().replace(b"letter 7", b"letter 8"))
    with pytest.raises(MillraceError, match="does not verify"):
        invoke("privacy", "verify", str(file), "--public-key", key)


def test_certificate_that_the_register_lacks_does_not_verify(home: Path, tmp_path: Path) -> None:
    number = invoke("privacy", "open", *WHO, "--reference", "letter 7").stdout.strip()
    before = (home / "privacy" / "requests.jsonl").read_bytes()
    file = tmp_path / "certificate.json"
    invoke("privacy", "prove", number, *WHO, "--out", str(file))
    (home / "privacy" / "requests.jsonl").write_bytes(before)
    with pytest.raises(MillraceError, match="not in the register"):
        invoke("privacy", "verify", str(file))


def test_status_warns_of_requests_that_are_due(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def notes() -> list[str]:
        return [note for note in take_snapshot(load_settings(), lag=False).notes if "request" in note]

    assert notes() == []
    invoke("privacy", "open", *WHO, "--reference", "letter 7")
    assert notes() == []
    monkeypatch.setenv("MILLRACE_PRIVACY_DEADLINE", "P3D")
    second = invoke("privacy", "open", *WHO, "--reference", "letter 8").stdout.strip()
    due = datetime.now(timezone.utc) + timedelta(days=3)
    assert notes() == [f"request {second} is due on {due:%Y-%m-%d}: `millrace privacy requests`"]
    invoke("privacy", "close", second, "--reason", "withdrawn")
    assert notes() == []
    late = invoke(
        "privacy", "open", *WHO, "--reference", "letter 9", "--received", "2026-01-31"
    ).stdout.strip()
    assert notes() == [f"request {late} was due on 2026-02-03: `millrace privacy requests`"]
    with pytest.raises(MillraceError, match="2999-01-01 is not over yet"):
        invoke("privacy", "open", *WHO, "--reference", "letter 9", "--received", "2999-01-01")
    register = home / "privacy" / "requests.jsonl"
    register.write_bytes(register.read_bytes().replace(b"letter", b"LETTER"))
    assert [
        "not as it was written" in note for note in take_snapshot(load_settings(), lag=False).notes
    ].count(True)


def test_only_some_roles_may_see_all_of_a_person(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(tmp_path, ROLES)
    monkeypatch.chdir(tmp_path)
    commands = (
        ("export-person", "--user", USER),
        ("privacy", "search", "--user", USER),
        ("privacy", "open", "--user", USER, "--reference", "letter 7"),
        ("privacy", "requests"),
        ("privacy", "prove", "2026-0001", "--user", USER),
        ("privacy", "close", "2026-0001", "--reason", "none"),
        ("privacy", "key"),
    )
    monkeypatch.setenv("MILLRACE_ROLE", "analyst")
    for command in commands:
        with pytest.raises(MillraceError, match="role analyst may not see all data"):
            invoke(*command)
    for role in ("admin", "privacy"):
        monkeypatch.setenv("MILLRACE_ROLE", role)
        assert invoke("export-person", "--user", USER).exit_code == 0


def test_old_versions_of_tables_are_searched(home: Path) -> None:
    replace_rows(home, "silver.events", [{"event_id": "e2", "visitor_id": "other"}])
    replace_rows(home, "silver.identities", [])
    assert invoke("export-person", "--user", USER).exit_code == 1
    assert searched(*WHO)[0] == 1
