"""Pages under roles: hidden tables are named, masks and row filters apply, and caches are per role."""

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
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
from kit.shown import metrics, said
from kit.warehouse_builder import build_warehouse
from lakehouse.access.masks import Mask
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
    *(pytest.param(name, marks=pytest.mark.long) for name in ("channels", "sums", "none")),
]
HIDING = [
    "overview",
    "pipeline",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("campaigns", "journeys", "windows", "quality")),
]
"""Pages with figures that need a table which the role does not see."""


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


MONEY = """
roles:
  counts:
    tables: ["silver.*", "gold.*", "ops.*"]
    mask: {gold.attribution.credited_reporting_value: "null", reporting_value: hide,
           credited_reporting_value: hide, cost: "null"}
"""


@pytest.fixture
def open_as(
    open_page: Any, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Callable[..., Any]]:
    """Opens pages as a role of a policy."""

    def of(policy_text: str, role: str) -> Callable[..., Any]:
        write_policy(policy_folder, policy_text)
        monkeypatch.setenv("MILLRACE_ROLE", role)
        return open_page

    return of


@pytest.mark.parametrize(
    ("view", "figures"),
    [
        ("overview", ["Value (EUR)"]),
        ("journeys", ["Value (EUR)"]),
        ("campaigns", ["Value credited (EUR)", "Cost (EUR)", "ROAS"]),
    ],
)
def test_masked_money_is_a_dash(view: str, figures: list[str], open_as: Any, shop_home: Path) -> None:
    page = open_as(MONEY, "counts")(shop_home, view, period="All")
    shown = metrics(page)
    assert [name for name, figure in shown.items() if figure == "–"] == figures
    money = {"reporting_value", "credited_reporting_value", "cost", "per_visit"}
    columns = [table.value[name] for table in page.dataframe for name in money & {*table.value}]
    assert columns
    assert all(column.isna().all() for column in columns)


def test_masked_money_has_no_bars(open_as: Any, shop_home: Path) -> None:
    open_page = open_as(MONEY, "counts")
    for view, charts in (("attribution", 1), ("campaigns", 0)):
        page = open_page(shop_home, view, period="All")
        assert len(page.get("vega_lite_chart")) == charts
        assert "This role does not see these figures." in said(page)
    page = open_page(shop_home, "attribution", period="All", **{"in": "Conversions"})
    assert len(page.get("vega_lite_chart")) == 3
    page = open_page(shop_home, "campaigns", period="All", trend="conversions credited")
    assert len(page.get("vega_lite_chart")) == 1


def test_cohorts_leave_out_what_a_role_does_not_see(open_as: Any, tmp_path: Path) -> None:
    week, late = date(2026, 2, 16), datetime(2026, 4, 1, tzinfo=timezone.utc)
    windows = [
        {"window_kind": kind, "window_start": late, "window_end": late + timedelta(minutes=1), "events": 1}
        for kind in ("1 minute", "1 day")
    ]
    person = {"cohort_week": week, **{f"{name}_{age}": 1 for name in ("returns", "value") for age in (7, 30)}}
    build_warehouse(tmp_path / "home", {"gold.traffic": windows, "gold.persons": [person]})
    masks = '{gold.persons.returns_7: "null", gold.persons.value_7: "null", gold.persons.value_30: hide}'
    open_page = open_as(f"roles: {{r: {{tables: [gold.*], mask: {masks}}}}}", "r")
    shown = metrics(open_page(tmp_path / "home", "cohorts"))
    assert [shown[f"Back within {age} days"] for age in (7, 30)] == ["–", "100.0%"]
    assert [shown[f"Value per person after {age} days (EUR)"] for age in (7, 30)] == ["–", "–"]


def test_conversion_page_opens_without_credit_and_value(open_as: Any, shop: Shop, shop_home: Path) -> None:
    masks = "{gold.attribution.credit: hide, gold.conversions.value: hide, gold.conversions.currency: hide}"
    open_page = open_as(f"roles: {{r: {{tables: [silver.*, gold.*], mask: {masks}}}}}", "r")
    row = next(each for each in shop.tables["gold.conversions"] if each["rate_valid_from"])
    text = said(open_page(shop_home, "conversion", conversion=row["conversion_id"]))
    assert utc(row["converted_at"]) in text
    assert "not said" not in text
    assert "Credits of each model" not in text


@pytest.mark.parametrize("view", HIDING)
def test_figures_of_hidden_tables_are_not_shown_as_zero(view: str, open_as: Any, shop_home: Path) -> None:
    page = open_as("roles: {r: {tables: [silver.*]}}", "r")(shop_home, view, period="All")
    assert not page.metric
    assert "Not there for this role, so without figures: " in said(page)


@pytest.mark.parametrize("default", ["account_default: null\n", ""])
def test_account_without_role_sees_no_figures(
    default: str, open_page: Any, shop_home: Path, policy_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No list says who may log in."""
    write_policy(policy_folder, ROLES.replace("account_default: null\n", default))
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
    Query("gold.conversions", (), (Measure("n", "count"),)).only("order_id", "not null"),
    Query("gold.conversions", ("conversion_id",)).only("visitor_id", "starts", "v"),
    Query("gold.traffic", ("channel",), sums("events", "reporting_value"), order=("channel",)),
    Query("gold.traffic", (), sums("events")).only("channel", "null"),
    Query("silver.sessions", ("session_id", "channel"), order=("session_id",)).only("channel", "=", "Email"),
    Query("ops.ledger", (), (Measure("n", "count"),)),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: f"{query.table}-{QUERIES.index(query)}")
def test_query_result_equals_query_over_masked_rows(
    query: Query, name: str, shop_home: Path, policy_folder: Path, all_rows: Any
) -> None:
    role = policy(policy_folder, ROLES).role(name)
    backend = LocalTables(shop_home / "warehouse")
    restricted = RestrictedTables(backend, role)
    version = backend.version(query.table)
    assert version is not None
    rows = all_rows(backend, query.table, version)
    found, expected = restricted.run(query, version), run_over_masked_rows(rows, role, query)
    assert found.schema == expected.schema
    assert found.sort(found.columns).equals(expected.sort(expected.columns)) or close(found, expected)


@pytest.fixture(scope="module")
def all_rows() -> Callable[[Backend, str, Version], pl.DataFrame]:
    """All rows of a table, read once."""
    read: dict[str, pl.DataFrame] = {}

    def of(backend: Backend, table: str, version: Version) -> pl.DataFrame:
        if table not in read:
            read[table] = backend.run(Query(table, tuple(COLUMNS[table])), version)
        return read[table]

    return of


def run_over_masked_rows(rows: pl.DataFrame, role: Role, query: Query) -> pl.DataFrame:
    """The query over rows that are masked first."""
    view = role.view(TABLES[query.table])
    masked = rows.clear() if view is None else view.polars(rows)
    hidden = {
        name: pl.lit(None, kind) for name, kind in COLUMNS[query.table].items() if name not in masked.columns
    }
    found = ask_frame(masked.lazy().with_columns(**hidden), query).collect()
    blank = {name for name, mask in (view.masks if view else {}).items() if mask is not Mask.HASH}
    is_filtered_by_it = any(each.column in blank for each in query.where)
    unknown = [each.name for each in query.measures if is_filtered_by_it or each.column in blank]
    return found.with_columns(pl.lit(None, found.schema[name]).alias(name) for name in unknown)


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
