"""Pages record the table versions that they read, if recording is enabled."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import read_notes
from deltalake import DeltaTable

from kit.access import write_policy
from kit.shown import said
from lakehouse.access.read_log import local_user


@pytest.fixture
def home(shop_home: Path, tmp_path: Path) -> Path:
    """A writable copy of the shop's home."""
    shutil.copytree(shop_home, tmp_path, dirs_exist_ok=True)
    return tmp_path


def recorded_reads(home: Path) -> list[dict[str, Any]]:
    log = read_notes._reads(str(home))
    log.close()
    return DeltaTable(home / "warehouse" / "ops" / "reads").to_pyarrow_table().to_pylist()


def test_page_records_table_versions_it_read(
    open_page: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_RECORD_READS", "True")
    page = open_page(home, "campaigns", period="All")
    page.run()
    page.switch_page("views/overview.py").run()
    rows = recorded_reads(home)
    of_page = [row for row in rows if row["subject"] == "campaigns"]
    tables = [row["table_name"] for row in of_page]
    assert {"gold.campaign_performance", "gold.promotion_performance"} <= set(tables)
    assert len(tables) == len(set(tables)), "once, though it was drawn twice"
    for row in of_page:
        folder = home.joinpath("warehouse", *row["table_name"].split("."))
        assert row["version"] == DeltaTable(folder).version()
        assert (row["reader"], row["role"], row["way"]) == (local_user(), "admin", "page")
    assert {row["subject"] for row in rows} == {"overview", "campaigns"}


def test_pages_record_no_reads_by_default(
    open_page: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MILLRACE_RECORD_READS", raising=False)
    open_page(home, "campaigns", period="All")
    assert not (home / "warehouse" / "ops" / "reads").exists()


def test_page_is_shown_when_reads_cannot_be_recorded(
    open_page: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_RECORD_READS", "True")
    reads = home / "warehouse" / "ops" / "reads"
    reads.parent.mkdir(exist_ok=True)
    reads.write_text("no folder")
    page = open_page(home, "overview", period="All")
    log = read_notes._reads(str(home))
    log.close()
    assert page.metric


def test_table_hidden_from_role_is_not_recorded_as_read(
    open_page: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(home, "roles: {sums: {tables: [gold.*]}}")
    monkeypatch.chdir(home)
    monkeypatch.setenv("MILLRACE_RECORD_READS", "True")
    monkeypatch.setenv("MILLRACE_ROLE", "sums")
    page = open_page(home, "audience", period="All")
    assert "Not there for this role, so without figures: silver.bots" in said(page)
    rows = recorded_reads(home)
    assert {row["role"] for row in rows} == {"sums"}
    assert {row["table_name"].partition(".")[0] for row in rows} == {"gold"}
