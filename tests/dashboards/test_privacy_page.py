"""Page Privacy: requests and certificates, for the role `privacy` and for roles that see everything."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from kit.access import write_policy
from kit.shop_warehouse import Shop
from kit.shown import metrics, said
from kit.warehouse_builder import build_warehouse
from lakehouse.settings import load_settings
from millrace.operations.privacy_proof import write_proof
from privacy.identities import Identity
from privacy.requests.register import Register

NOW = datetime.now(timezone.utc)
DAY = timedelta(days=1)
ROLES = """
roles:
  privacy:
    tables: ["*"]
    mask: {order_id: hide}
  analyst:
    tables: ["*"]
    mask: {order_id: hide}
"""
CONSENTED = [True, True, False, True]


def enter(register: Register, user: str, reference: str, days_ago: int) -> str:
    identities = [Identity("user", user)]
    return register.open(identities, reference, NOW - days_ago * DAY, 30 * DAY).id


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with requests that are overdue, due, proven and closed."""
    home = tmp_path / "home"
    home.mkdir()
    register = Register(home)
    enter(register, "ann-4711", "new", 1)
    enter(register, "ben-4711", "due", 25)
    enter(register, "eve-4711", "overdue", 40)
    proven = enter(register, "joe-4711", "proven", 3)
    write_proof(load_settings(home=home), proven, ["joe-4711"], [], (), (), None)
    register.close(enter(register, "kim-4711", "<b>closed</b>", 2), "withdrawn", NOW)
    return home


def table(page: AppTest, column: str) -> pd.DataFrame:
    (found,) = [element.value for element in page.dataframe if column in element.value]
    return found


def test_open_requests_come_first_by_deadline(open_page: Any, home: Path) -> None:
    page = open_page(home, "privacy")
    shown = metrics(page)
    labels = ("Open requests", "Due within a week", "Erased, not proven", "Proven")
    assert [shown[label] for label in labels] == ["3", "2", "0", "1"]
    rows = table(page, "deadline")
    assert list(rows["reference"][:3]) == ["overdue", "due", "new"]
    assert list(rows["left"][:3]) == ["OVERDUE", "4 days", "28 days"]
    assert set(rows["state"][3:]) == {"proven", "closed"}


def test_certificate_is_verified(open_page: Any, home: Path) -> None:
    assert list(table(open_page(home, "privacy"), "valid")["valid"]) == ["yes"]
    [file] = (home / "privacy" / "certificates").glob("*.json")
    file.write_bytes(file.read_bytes().replace(b'"files": ', b'"files": 1'))
    rows = table(open_page(home, "privacy"), "valid")
    assert "does not verify" in rows["valid"][0]
    assert rows["file"][0] == file.name


def test_changed_register_is_named(open_page: Any, home: Path) -> None:
    file = home / "privacy" / "requests.jsonl"
    file.write_text(file.read_text().replace("overdue", "0verdue"))
    page = open_page(home, "privacy")
    assert "requests.jsonl" in page.error[0].value
    assert not page.dataframe


def test_spans_are_those_in_force(open_page: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_policy(home.parent, "roles: {}\n")
    (home.parent / "conf" / "retention.yml").write_text("persons: P730D\n")
    monkeypatch.chdir(home.parent)
    monkeypatch.setenv("MILLRACE_PRIVACY_DEADLINE", "P14D")
    spans = table(open_page(home, "privacy"), "span").set_index("by")["span"].to_dict()
    assert spans["persons in conf/retention.yml"] == "730 days"
    assert spans["records in conf/retention.yml"] == "without end"
    assert spans["MILLRACE_PRIVACY_DEADLINE"] == "14 days"


def test_share_with_consent_is_shown(open_page: Any, shop: Shop, home: Path) -> None:
    touches = [
        {**row, "has_attribution_consent": consent}
        for row, consent in zip(shop.tables["gold.touches"], CONSENTED, strict=False)
    ]
    tables = {name: shop.tables[name] for name in ("gold.traffic", "silver.events")}
    build_warehouse(home, {**tables, "gold.touches": touches})
    rows = table(open_page(home, "privacy", period="All"), "with")
    assert rows[["purpose", "of"]].values.tolist() == [["attribution", "touches"]]
    assert list(rows["with"].round(6)) == [0.75]


@pytest.mark.parametrize(("role", "sees"), [(None, True), ("privacy", True), ("analyst", False)])
def test_page_is_for_the_role_privacy_alone(
    role: str | None, sees: bool, open_page: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(home.parent, ROLES)
    monkeypatch.chdir(home.parent)
    if role:
        monkeypatch.setenv("MILLRACE_ROLE", role)
    page = open_page(home, "privacy")
    assert ("Open requests" in metrics(page)) == sees
    cells = "".join(element.value.to_string() for element in page.dataframe) + said(page)
    assert ("overdue" in cells) == sees


def test_page_is_not_there_on_a_catalog(open_page: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_CATALOG", "shop")
    assert "Open requests" not in metrics(open_page(home, "privacy"))
