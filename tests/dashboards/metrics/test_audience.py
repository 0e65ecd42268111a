"""Bots on page Audience: where there are more than can be excluded, and for roles that do not see them."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from metrics import audience

from kit.access import write_policy
from kit.shown import metrics, said
from kit.warehouse_builder import append_rows

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)


def build_home(home: Path, *bots: str) -> None:
    """A home with a session of a person and of each bot, which were found one after the other."""
    visits = [
        {"visitor_id": name, "entry_url": name, "started_at": NOON, "ended_at": NOON, "page_views": 1}
        for name in ("person", *bots)
    ]
    append_rows(home, "silver.sessions", visits)
    found = [{"visitor_id": name, "since": NOON + place * SECOND} for place, name in enumerate(bots)]
    append_rows(home, "silver.bots", found)


@pytest.mark.parametrize(
    ("role", "sessions"),
    [
        ('{tables: [silver.*, gold.*], mask: {user_id: "null"}}', None),
        ("{tables: [silver.*, gold.*], mask: {silver.sessions.visitor_id: hide}}", None),
        ("{tables: [silver.sessions, gold.*]}", None),
        ("{tables: [gold.*, silver.bots, silver.sessions], mask: {visitor_id: hash}}", "1"),
    ],
)
def test_sessions_are_left_out_for_a_role_that_cannot_tell_bots(
    role: str, sessions: str | None, tmp_path: Path, open_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_home(tmp_path, "bot")
    write_policy(tmp_path, f"roles: {{r: {role}}}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MILLRACE_ROLE", "r")
    page = open_page(tmp_path, "audience", period="All")
    assert metrics(page).get("Sessions") == sessions
    assert ("Sessions, entry and exit pages are left out" in said(page)) == (sessions is None)
    assert not any("page" in table.value for table in page.dataframe)  # addresses are masked


@pytest.mark.parametrize(("excluded", "counted"), [(3, {"person"}), (2, {"person", "first"})])
def test_bots_found_last_are_excluded_and_page_says_if_others_are_counted(
    excluded: int, counted: set[str], tmp_path: Path, open_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_home(tmp_path, "first", "second", "third")
    monkeypatch.setattr(audience, "BOTS", excluded)
    page = open_page(tmp_path, "audience", period="All")
    entries = next(table.value for table in page.dataframe if "page" in table.value)
    assert set(entries["page"]) == counted
    assert (f"only the {excluded} found last are left out" in said(page)) == (len(counted) > 1)
