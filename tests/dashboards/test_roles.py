"""Pages under roles: hidden tables are named, masks and row filters apply, and caches are per role."""

from pathlib import Path
from typing import Any

import access
import polars as pl
import pytest
import viewer
from schema import COLUMNS
from tables.backend import Backend
from tables.delta_backend import LocalTables
from tables.polars_query import ask_frame
from tables.query import Measure, Query, Version, sums
from tables.restricted_backend import RestrictedTables
from widgets.formatting import utc

from kit.access import hash_of, policy, write_policy
from kit.dashboards_folder import VIEWS
from kit.shop_warehouse import Shop
from kit.shown import said
from lakehouse.access.role import Role
from lakehouse.contracts import TABLES

ROLES = """
roles:
  analyst:
    tables: ["silver.*", "gold.*", "ops.*"]
    mask: {visitor_id: hash, order_id: hide, silver.events.url: "null"}
    rows:
      gold.attribution: {channel: [Email, Paid Search]}
      gold.conversions: {goal: [Order Completed, null]}
  channels:
    tables: [gold.attribution, gold.traffic]
    rows: {gold.traffic: {channel: {not: [Direct]}}}
  sums:
    tables: ["gold.*"]
    mask: {channel: hash, reporting_value: hide, campaign_name: hash}
  none:
    tables: [gold.funnel]
accounts: {ann@shop.example: analyst}
account_default: null
"""
NAMES = ("analyst", "channels", "sums", "none")
PAGE_ROLES = [
    "analyst",
    pytest.param("channels", marks=pytest.mark.long),
    "sums",
    pytest.param("none", marks=pytest.mark.long),
]


@pytest.fixture
def policy_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_policy(tmp_path, ROLES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", PAGE_ROLES)
@pytest.mark.parametrize("view", VIEWS)
def test_page_names_the_role_it_is_restricted_to(
    view: str,
    name: str,
    open_page: Any,
    shop_home: Path,
    policy_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MILLRACE_ROLE", name)
    page = open_page(shop_home, view, period="All")
    text = said(page)
    assert f"The role {name} sees no rows of" in text or f"Shown as the role {name} may see it" in text
    assert "No events yet" not in text


def test_conversion_page_shows_no_masked_value(
    open_page: Any, shop: Shop, shop_home: Path, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_ROLE", "analyst")
    row = next(each for each in shop.tables["gold.conversions"] if each["goal"] == "Order Completed")
    hidden = [row[name] for name in ("conversion_id", "visitor_id", "person_id", "order_id")]
    assert all(hidden)
    assert "There is no conversion" in said(open_page(shop_home, "conversion", conversion=row["order_id"]))
    page = open_page(shop_home, "conversion", conversion=hash_of(shop_home, row["conversion_id"]))
    text = said(page)
    assert utc(row["converted_at"]) in text
    cells = "".join(table.value.to_string() for table in page.dataframe) + text
    assert [each for each in hidden if each in cells] == []


def test_page_names_tables_hidden_from_role(
    open_page: Any, shop_home: Path, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_ROLE", "sums")
    assert "Not there for this role, so without figures: silver.bots, silver.sessions" in said(
        open_page(shop_home, "audience", period="All")
    )


def test_account_without_role_sees_no_figures(
    open_page: Any, shop_home: Path, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "check_viewer", lambda: None)
    monkeypatch.setattr(access, "has_login", lambda: True)
    for email in (None, "eve@shop.example"):
        monkeypatch.setattr(access, "verified_email", lambda email=email: email)
        page = open_app(shop_home, monkeypatch)
        assert "This account has no role" in said(page)
        assert not page.metric
    monkeypatch.setattr(access, "verified_email", lambda: "ANN@shop.example")
    assert "Shown as the role analyst" in said(open_page(shop_home, "overview", period="All"))


def test_account_sees_nothing_while_neither_list_nor_policy_names_accounts(
    open_page: Any, shop_home: Path, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(policy_folder, "roles: {}\n")
    monkeypatch.setattr(access, "check_viewer", lambda: None)
    monkeypatch.setattr(access, "has_login", lambda: True)
    monkeypatch.setattr(access, "verified_email", lambda: "ann@shop.example")
    page = open_app(shop_home, monkeypatch)
    assert "This account has no role" in said(page)
    assert not page.metric
    monkeypatch.setattr(access, "has_list", lambda: True)
    assert "Shown as the role" not in said(open_page(shop_home, "overview", period="All"))


def test_other_accounts_see_nothing_while_only_policy_names_accounts(
    open_page: Any, shop_home: Path, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy(policy_folder, ROLES.replace("account_default: null\n", ""))
    monkeypatch.setattr(access, "check_viewer", lambda: None)
    monkeypatch.setattr(access, "has_login", lambda: True)
    for email in (None, "eve@shop.example"):
        monkeypatch.setattr(access, "verified_email", lambda email=email: email)
        page = open_app(shop_home, monkeypatch)
        assert "This account has no role" in said(page)
        assert not page.metric
    monkeypatch.setattr(access, "verified_email", lambda: "ann@shop.example")
    assert "Shown as the role analyst" in said(open_page(shop_home, "overview", period="All"))


def test_invalid_policy_denies_access_with_reason(
    shop_home: Path, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_ROLE", "analyst")
    write_policy(policy_folder, "roles: {analyst: {}}")
    page = open_app(shop_home, monkeypatch)
    assert "No access" in said(page)
    assert "roles.analyst.tables: Field required" in said(page)


def open_app(home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import streamlit as st
    from streamlit.testing.v1 import AppTest

    from kit.dashboards_folder import DASHBOARDS

    monkeypatch.setenv("MILLRACE_HOME", str(home))
    monkeypatch.setattr(access, "refusal_to_serve", lambda *_: "")
    st.cache_resource.clear()
    page = AppTest.from_file(str(DASHBOARDS / "app.py"), default_timeout=60).run()
    assert not page.exception
    return page


def test_each_role_has_its_own_cache(
    policy_folder: Path, shop_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import data_source
    import streamlit as st

    st.cache_resource.clear()
    monkeypatch.setenv("MILLRACE_HOME", str(shop_home))
    query = Query("gold.attribution", ("channel",), (Measure("rows", "count"),))
    found = {}
    for name in ("", "analyst", "", "analyst"):
        monkeypatch.setenv("MILLRACE_ROLE", name)
        channels = set(data_source.lake().look().figure(run_single_query, query)["channel"])
        assert found.setdefault(name, channels) == channels
    assert found["analyst"] == {"Email", "Paid Search"}
    assert found[""] > found["analyst"]


def run_single_query(ask: Any, query: Query) -> pl.DataFrame:
    found: pl.DataFrame = ask(query)
    return found


QUERIES = [
    Query("gold.attribution", ("channel",), sums("credit"), order=("channel",)),
    Query("gold.attribution", ("model", "is_counted"), sums("credit"), order=("model", "is_counted")),
    Query(
        "gold.attribution",
        ("conversion_id", "touch_id"),
        order=("conversion_id", "touch_id", "-model"),
        limit=9,
    ),
    Query("gold.conversions", ("visitor_id", "order_id"), order=("visitor_id",)),
    Query("gold.conversions", (), (Measure("n", "distinct", "visitor_id"), Measure("m", "count"))),
    Query("gold.conversions", ("goal",), (Measure("n", "count"),)).only("order_id", "not null"),
    Query("gold.conversions", ("conversion_id",)).only("visitor_id", "starts", "v"),
    Query("gold.traffic", ("channel",), sums("events", "reporting_value"), order=("channel",)),
    Query("gold.traffic", (), sums("events")).only("channel", "null"),
    Query("silver.sessions", ("session_id", "channel"), order=("session_id",)).only("channel", "=", "Email"),
    Query("ops.ledger", (), (Measure("n", "count"),)),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: f"{query.table}-{QUERIES.index(query)}")
def test_query_result_equals_query_over_masked_rows(
    query: Query, name: str, shop_home: Path, policy_folder: Path
) -> None:
    role = policy(policy_folder, ROLES).role(name)
    backend = LocalTables(shop_home / "warehouse")
    restricted = RestrictedTables(backend, role)
    version = backend.version(query.table)
    assert version is not None
    found, expected = restricted.run(query, version), run_over_masked_rows(backend, role, query, version)
    assert found.schema == expected.schema
    assert found.sort(found.columns).equals(expected.sort(expected.columns)) or close(found, expected)


def run_over_masked_rows(backend: Backend, role: Role, query: Query, version: Version) -> pl.DataFrame:
    """Reads all rows, masks them, then runs the query."""
    rows = backend.run(Query(query.table, tuple(COLUMNS[query.table])), version)
    view = role.view(TABLES[query.table])
    masked = rows.clear() if view is None else view.polars(rows)
    hidden = {
        name: pl.lit(None, kind) for name, kind in COLUMNS[query.table].items() if name not in masked.columns
    }
    return ask_frame(masked.lazy().with_columns(**hidden), query).collect()


def close(found: pl.DataFrame, expected: pl.DataFrame) -> bool:
    """Equal except for row order and for rounding of summed floats."""
    from polars.testing import assert_frame_equal

    assert_frame_equal(found, expected, check_row_order=False, check_exact=False)
    return True


def test_row_count_of_row_filtered_table_is_hidden(shop_home: Path, policy_folder: Path) -> None:
    backend = LocalTables(shop_home / "warehouse")
    restricted = RestrictedTables(backend, policy(policy_folder, ROLES).role("channels"))
    version = backend.version("gold.traffic")
    assert version is not None
    assert restricted.facts("gold.traffic", version).rows is None
    whole = restricted.facts("gold.attribution", backend.version("gold.attribution") or version)
    assert whole.rows


def test_viewer_without_login_and_role_sees_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MILLRACE_ROLE", raising=False)
    assert viewer.sees_everything()
