"""Search results by rank, and promotions, on their pages: over the shop and over handmade rows."""

from pathlib import Path
from typing import Any

import pytest

from kit.shop_warehouse import Shop
from kit.shown import chart_rows, said
from kit.warehouse_builder import build_warehouse

PEOPLE = "visitor_id NOT IN (SELECT visitor_id FROM silver.bots)"
RANK_CHART = 2  # index of the chart on its page


def table(page: Any, place: int) -> list[tuple[Any, ...]]:
    """Rows of a table on the page; None where a cell is empty."""
    shown = page.dataframe[place].value.astype(object)
    return [tuple(row) for row in shown.where(shown.notna(), None).to_numpy().tolist()]


@pytest.mark.parametrize("query", [None, "lamp"])
def test_click_through_rate_by_rank_excludes_bots(
    query: str | None, open_page: Any, shop_home: Path, sql: Any
) -> None:
    page = open_page(shop_home, "audience", period="All", **({"query": query} if query else {}))
    counted = sql(
        "SELECT rank, count(*), count(*) FILTER (outcome = 'clicked') FROM silver.search_results"
        f" WHERE {PEOPLE} AND {f'query = {query!r}' if query else 'true'} GROUP BY 1 ORDER BY 1"
    )
    assert len(counted) > 5
    assert sum(clicked for *_, clicked in counted) > 5
    assert table(page, 0) == [
        (rank, shown, clicked, pytest.approx(clicked / shown, abs=0.0005)) for rank, shown, clicked in counted
    ]
    rates = {str(rank): pytest.approx(clicked / shown) for rank, shown, clicked in counted}
    assert chart_rows(page, RANK_CHART, "rank", "click_through") == rates
    states = {
        str(rank): "shown 100 times or more" if shown >= 100 else "shown less often"
        for rank, shown, _ in counted
    }
    assert chart_rows(page, RANK_CHART, "rank", "state") == states
    assert (set(states.values()) == {"shown less often"}) == (query is not None)


def test_query_filter_lists_queries_by_results_shown(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "audience", period="All")
    shown = sql(
        "SELECT query FROM gold.result_performance WHERE query IS NOT NULL"
        " GROUP BY 1 ORDER BY sum(shown) DESC, 1"
    )
    assert page.selectbox(key="query").options == [query for (query,) in shown]


def test_rank_chart_marks_rarely_shown_ranks_and_ends_at_rank_20(
    open_page: Any, shop: Shop, tmp_path: Path
) -> None:
    day = shop.until.date()
    rows = [
        {"day": day, "query": "lamp", "rank": rank, "shown": shown, "clicked": clicked}
        for rank, shown, clicked in ((1, 1200, 300), (2, 3, 3), (20, 100, 0), (21, 50, 1))
    ]
    build_warehouse(tmp_path, {**shop.tables, "gold.result_performance": rows})
    page = open_page(tmp_path, "audience", period="All")
    words = {"1": "25.0% of 1,200", "2": "100.0% of 3", "20": "0.0% of 100"}
    assert chart_rows(page, RANK_CHART, "rank", "words") == words
    pale = {"1": "shown 100 times or more", "2": "shown less often", "20": "shown 100 times or more"}
    assert chart_rows(page, RANK_CHART, "rank", "state") == pale
    assert [rank for rank, *_ in table(page, 0)] == [1, 2, 20, 21]


@pytest.mark.parametrize("campaign", ["", "lamp-week"])
def test_promotions_table_shows_impressions_clicks_and_conversions(
    campaign: str, open_page: Any, shop_home: Path, sql: Any
) -> None:
    more = {"campaign": campaign} if campaign else {}
    page = open_page(shop_home, "campaigns", period="All", **more)
    seen = dict(
        sql(
            "SELECT promotion_id, count(*) FROM silver.impressions"
            f" WHERE outcome <> 'orphan' AND {PEOPLE} GROUP BY 1"
        )
    )
    clicked = {
        promotion: (clicks, on_site)
        for promotion, clicks, on_site in sql(
            "SELECT promotion_id, count(*), count(*) FILTER (channel = 'On-site') FROM gold.touches"
            " WHERE kind = 'click' GROUP BY 1"
        )
    }
    visitors = {
        promotion: (clicking, converting)
        for promotion, clicking, converting in sql(
            "SELECT promotion_id, sum(clicking_visitors), sum(converting_visitors)"
            " FROM gold.promotion_performance GROUP BY 1"
        )
    }
    expected = []
    for promotion in sorted(seen, key=lambda each: (-seen[each], -clicked[each][0], each)):
        (clicks, on_site), (clicking, converting) = clicked[promotion], visitors[promotion]
        word = "on-site" if on_site == clicks else "on-site and campaign" if on_site else "campaign"
        click_through, ordered = (
            pytest.approx(share, abs=0.0005) for share in (clicks / seen[promotion], converting / clicking)
        )
        row = (
            promotion,
            word,
            seen[promotion],
            clicks,
            on_site,
            click_through,
            clicking,
            converting,
            ordered,
        )
        if campaign in ("", promotion):
            expected.append(row)
    assert table(page, 1) == expected
    assert len(expected) == (1 if campaign else 6)
    assert {row[1] for row in expected} == ({"on-site"} if campaign else {"on-site", "on-site and campaign"})


def test_promotion_without_clicks_has_no_kind_and_no_conversion_rate(
    open_page: Any, shop: Shop, tmp_path: Path
) -> None:
    row = {"day": shop.until.date(), "promotion_id": "new", "impressions": 3, "clicks": 0}
    row |= {"clicking_visitors": 0, "converting_visitors": 0}
    build_warehouse(tmp_path, {**shop.tables, "gold.promotion_performance": [row], "gold.touches": []})
    page = open_page(tmp_path, "campaigns", period="All")
    assert table(page, 1) == [("new", None, 3, 0, None, 0.0, 0, 0, None)]


def test_pages_without_rows_name_the_missing_event(open_page: Any, shop: Shop, tmp_path: Path) -> None:
    none = {"gold.result_performance": [], "gold.promotion_performance": []}
    build_warehouse(tmp_path, {**shop.tables, **none})
    assert "Missing: products in Products Searched" in said(open_page(tmp_path, "audience", period="All"))
    assert "Missing: Promotion Viewed" in said(open_page(tmp_path, "campaigns", period="All"))
