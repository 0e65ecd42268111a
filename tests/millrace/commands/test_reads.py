"""Reads are recorded by `millrace sql` and `millrace serve` if enabled, and listed by `millrace reads`."""

import getpass
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from deltalake import DeltaTable
from typer.testing import CliRunner

from kit.access import ROLES, write_policy
from kit.api_process import api_process
from kit.delivered import delivered
from kit.polling import eventually
from kit.warehouse_builder import append_rows, replace_rows
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands

FUNNEL = "gold.funnel"
QUERY = f"SELECT sum(visitors) FROM {FUNNEL}"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    monkeypatch.setenv("MILLRACE_RECORD_READS", "true")


def run(*arguments: str) -> str:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, arguments)
    if answer.exception and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def listed(*arguments: str) -> list[dict[str, Any]]:
    lines = run("reads", *arguments, "--json").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def write(home: Path, *visitors: int) -> None:
    """A version of gold.funnel, with a step for each number of visitors."""
    rows = [{"step": str(step), "visitors": count} for step, count in enumerate(visitors)]
    replace_rows(home, FUNNEL, rows)


def test_query_records_the_tables_it_reads(tmp_path: Path) -> None:
    write(tmp_path, 1)
    write(tmp_path, 2, 3)
    append_rows(tmp_path, "silver.sessions", [{"session_id": "funnel", "is_open": True}])
    query = f"SELECT step, 'sessions' AS word FROM {FUNNEL.upper()} AS f"
    run("sql", query)
    (row,) = listed()
    assert row.pop("read_at") > "2026"
    assert row == {
        "reader": getpass.getuser(),
        "role": "admin",
        "way": "sql",
        "table_name": FUNNEL,
        "version": 1,
        "subject": query,
        "rows": 2,
    }


def test_query_is_recorded_with_its_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_policy(tmp_path, ROLES)
    monkeypatch.chdir(tmp_path)
    write(tmp_path, 1)
    run("sql", "--role", "analyst", QUERY)
    assert [(row["role"], row["version"]) for row in listed()] == [("analyst", 0)]


@pytest.mark.parametrize("value", ["", "false"])
def test_reads_are_not_recorded_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.delenv("MILLRACE_RECORD_READS")
    if value:
        monkeypatch.setenv("MILLRACE_RECORD_READS", value)
    write(tmp_path, 1)
    run("sql", QUERY)
    assert not (tmp_path / "warehouse" / "ops").exists()
    with pytest.raises(MillraceError, match="MILLRACE_RECORD_READS"):
        run("reads")


def test_failed_query_is_not_recorded(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with pytest.raises(MillraceError):
        run("sql", f"SELECT nothing FROM {FUNNEL}")
    assert not (tmp_path / "warehouse" / "ops").exists()


def test_listed_reads_are_filtered_by_table_reader_and_time(tmp_path: Path) -> None:
    write(tmp_path, 1)
    append_rows(tmp_path, "gold.touches", [{"touch_id": "t1"}])
    run("sql", QUERY)
    run("sql", "SELECT * FROM gold.touches")
    assert [row["table_name"] for row in listed()] == ["gold.touches", FUNNEL]
    assert [row["table_name"] for row in listed("--table", FUNNEL)] == [FUNNEL]
    assert len(listed("--reader", getpass.getuser(), "--since", "2020-01-01")) == 2
    assert listed("--reader", "eve") == listed("--since", "2999-12-31T23:59") == []
    assert "No such reads." in run("reads", "--reader", "eve")
    assert "2 rows" in run("reads")


def test_api_records_reads(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with api_process(tmp_path, MILLRACE_RECORD_READS="true") as server:
        assert httpx.get(f"{server.url}/v1/rows", params={"table": FUNNEL}).status_code == 200
        assert server.process is not None
        server.process.terminate()
        server.process.wait(30)
        server.process = None
    assert [(row["reader"], row["way"], row["version"], row["subject"]) for row in listed()] == [
        ("(local)", "api", 0, FUNNEL)
    ]


def test_webhook_records_reads(tmp_path: Path) -> None:
    write(tmp_path, 1)
    with delivered() as receiver, api_process(tmp_path, MILLRACE_RECORD_READS="true") as server:
        asked = {"url": receiver.url, "table": FUNNEL}
        answer = httpx.post(f"{server.url}/v1/webhooks", json=asked)
        receiver.secret = answer.json()["secret"]
        eventually(lambda: receiver.numbers, 20, "a delivery")
        log = tmp_path / "warehouse" / "ops" / "reads" / "_delta_log"
        eventually(lambda: log.is_dir() and listed(), 30, "the read is recorded")
    assert [(row["reader"], row["way"], row["version"], row["subject"]) for row in listed()] == [
        ("(local)", "api", 0, FUNNEL)
    ]


def test_reads_of_later_corrected_rows_are_listed(tmp_path: Path) -> None:
    for counts in ((8, 5), (9, 5), (9, 6, 1), (9, 6, 2)):
        write(tmp_path, *counts)
        run("sql", QUERY)

    def found(*arguments: str) -> list[tuple[int, int]]:
        rows = listed("--corrected", FUNNEL, *arguments)
        return [(row["version"], row["corrected_rows"]) for row in rows]

    assert found() == [(2, 1), (1, 1), (0, 2)]
    assert found("--version", "1") == [(0, 2)]
    assert found("--version", "2") == [(1, 1), (0, 1)]
    assert found("--version", "3") == [(2, 1)]
    assert found("--since", "2999-12-31") == []


def test_corrections_before_start_of_change_feed_are_unknown(tmp_path: Path) -> None:
    for count in (1, 2, 3):
        write(tmp_path, count)
        run("sql", QUERY)
        if count == 2:  # the files that version 1 replaced are removed
            funnel = DeltaTable(tmp_path / "warehouse" / "gold" / "funnel")
            funnel.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert [(row["version"], row["corrected_rows"]) for row in listed("--corrected", FUNNEL)] == [
        (1, 1),
        (0, None),
    ]
    result = CliRunner().invoke(app, ("reads", "--corrected", FUNNEL))
    assert "Not known for 1 read: the change feed of gold.funnel reaches back to version 1" in result.stderr


def test_corrections_of_recreated_table_are_unknown(tmp_path: Path) -> None:
    import shutil

    write(tmp_path, 1)
    run("sql", QUERY)
    shutil.rmtree(tmp_path / "warehouse" / "gold")
    write(tmp_path, 1)
    write(tmp_path, 2)
    assert [row["corrected_rows"] for row in listed("--corrected", FUNNEL)] == [None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--version", "1"), "--version is for corrections"),
        (("--corrected", FUNNEL, "--table", FUNNEL), "--corrected names the table"),
        (("--corrected", FUNNEL, "--version", "1", "--since", "2026-01-01"), "Give one of them"),
        (("--table", "gold.nothing"), "gold.nothing is not a table"),
    ],
)
def test_invalid_options_are_rejected_with_a_hint(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(MillraceError, match=message):
        run("reads", *arguments)


def test_restricted_role_cannot_list_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_policy(tmp_path, ROLES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MILLRACE_ROLE", "analyst")
    with pytest.raises(MillraceError, match="role analyst may not see what others read"):
        run("reads")
