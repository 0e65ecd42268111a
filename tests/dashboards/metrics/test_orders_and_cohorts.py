"""The pages Orders and Cohorts, compared with queries and with naive sums over all people."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from metrics.cohorts import AGES, BY, cohorts
from metrics.orders import DIFFERENCES
from period import Period
from query_scope import Scope
from tables.delta_backend import LocalTables
from tables.query import Query

from kit.asking import Sql
from kit.shop_warehouse import Shop
from kit.shown import metrics, said
from lakehouse.contracts.orders import DIFFERENCES as IN_CONTRACT

LATE = datetime(2026, 9, 1, tzinfo=timezone.utc)
_COUNTED = "SELECT count(*) AS n FROM gold.order_comparisons WHERE NOT is_older"


def test_every_difference_of_the_contract_is_explained() -> None:
    assert set(DIFFERENCES) == set(IN_CONTRACT)


def test_orders_page_counts_and_names_differences(open_page: Any, shop_home: Path, sql: Sql) -> None:
    page = open_page(shop_home, "orders", period="All")
    shown = metrics(page)
    [(total,)] = sql(_COUNTED)
    assert shown["Orders"] == f"{total:,}"
    for name in DIFFERENCES:
        [(count,)] = sql(f"{_COUNTED} AND difference = '{name}'")
        assert shown[name.capitalize()] == f"{count:,}"
    differ = sql("SELECT order_id FROM gold.order_comparisons WHERE difference IS NOT NULL")
    [listed] = [table.value for table in page.dataframe]
    assert sorted(listed["order_id"]) == sorted(name for (name,) in differ)
    assert len(differ) > 3


def test_orders_page_without_a_shop_says_what_is_missing(open_page: Any, shop: Shop, tmp_path: Path) -> None:
    from kit.warehouse_builder import build_warehouse

    names = ("silver.events", "gold.traffic", "ops.ledger")
    build_warehouse(tmp_path, {name: shop.tables[name] for name in names})
    assert "Missing: a source in conf/shop.yml" in said(open_page(tmp_path, "orders", period="All"))


def test_cohorts_page_shows_all_people(open_page: Any, shop_home: Path, shop: Shop) -> None:
    for by in BY:
        page = open_page(shop_home, "cohorts", **{"cohorts-by": by})
        assert metrics(page)["People"] == f"{len(shop.tables['gold.persons']):,}"
        assert sum(page.dataframe[0].value["people"]) == len(shop.tables["gold.persons"])


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("end", [LATE, datetime(2026, 4, 25, tzinfo=timezone.utc)])
def test_cohorts_equal_naive_sums(by: str, end: datetime, shop_home: Path, shop: Shop) -> None:
    found = cohorts(asking(shop_home), scope(), end, BY[by], frozenset())
    rows = shop.tables["gold.persons"]
    for age, people, returning, value in found.ages.rows():
        old = [row for row in rows if row["cohort_week"] + timedelta(days=7 + age) <= end.date()]
        assert people == len(old)
        assert returning == sum(row[f"returns_{age}"] > 0 for row in old)
        assert value == pytest.approx(float(sum(row[f"value_{age}"] for row in old)))
    assert found.ages["age"].to_list() == list(AGES)
    assert found.people == len(rows) == found.groups["people"].sum()
    of_direct = sum(row["channel"] == "Direct" for row in rows)
    if by == "Channel":
        assert dict(found.groups.select("group", "people").rows())["Direct"] == of_direct


def test_cohorts_of_a_channel_leave_out_others(shop_home: Path, shop: Shop) -> None:
    found = cohorts(asking(shop_home), scope(channels=("Email",)), LATE, "channel", frozenset())
    assert found.groups["group"].to_list() == ["Email"]
    assert found.people == sum(row["channel"] == "Email" for row in shop.tables["gold.persons"])


def scope(**more: Any) -> Scope:
    period = object.__new__(Period)  # the page uses only its time zone
    return Scope(period, **more)


def asking(home: Path) -> Any:
    backend = LocalTables(home / "warehouse")

    def ask(query: Query) -> pl.DataFrame:
        version = backend.version(query.table)
        assert version is not None
        return backend.run(query, version)

    return ask
