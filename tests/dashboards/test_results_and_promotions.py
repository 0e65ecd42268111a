"""Results by rank, promotions, and trails on pages, over a shop and over rows made by hand."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from trail_words import WORDS

from kit.shop_warehouse import Shop
from kit.shown import chart_rows, said
from kit.warehouse_builder import build_warehouse, replace_rows

PEOPLE = "visitor_id NOT IN (SELECT visitor_id FROM silver.bots)"
RANKS = 2  # place of the chart on its page


def table(page: Any, place: int) -> list[tuple[Any, ...]]:
    """Rows of a table of the page; None where a cell is empty."""
    shown = page.dataframe[place].value.astype(object)
    return [tuple(row) for row in shown.where(shown.notna(), None).to_numpy().tolist()]


@pytest.mark.parametrize("query", [None, "lamp"])
def test_click_through_by_rank(query: str | None, open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "audience", period="All", **({"query": query} if query else {}))
    counted = sql(
        "SELECT rank, count(*), count(*) FILTER (outcome = 'clicked') FROM silver.search_results"
        f" WHERE {PEOPLE} AND {f'query = {query!r}' if query else 'true'} GROUP BY 1 ORDER BY 1"
    )
    assert len(counted) > 5
    assert sum(clicked for *_, clicked in counted) > 5
    assert table(page, 0) == [
        (rank, shown, clicked, pytest.approx(clicked / shown)) for rank, shown, clicked in counted
    ]
    rates = {str(rank): pytest.approx(clicked / shown) for rank, shown, clicked in counted}
    assert chart_rows(page, RANKS, "rank", "click_through") == rates
    states = {
        str(rank): "shown 100 times or more" if shown >= 100 else "shown less often"
        for rank, shown, _ in counted
    }
    assert chart_rows(page, RANKS, "rank", "state") == states
    assert (set(states.values()) == {"shown less often"}) == (query is not None)


def test_results_can_be_asked_for_by_the_words_searched_for(
    open_page: Any, shop_home: Path, sql: Any
) -> None:
    page = open_page(shop_home, "audience", period="All")
    shown = sql(
        "SELECT query FROM gold.result_performance WHERE query IS NOT NULL"
        " GROUP BY 1 ORDER BY sum(shown) DESC, 1"
    )
    assert page.selectbox(key="query").options == [query for (query,) in shown]


def test_a_rank_that_few_saw_and_one_far_down_stay_readable(
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
    assert chart_rows(page, RANKS, "rank", "words") == words
    pale = {"1": "shown 100 times or more", "2": "shown less often", "20": "shown 100 times or more"}
    assert chart_rows(page, RANKS, "rank", "state") == pale
    assert [rank for rank, *_ in table(page, 0)] == [1, 2, 20, 21]


@pytest.mark.parametrize("campaign", ["", "lamp-week"])
def test_promotions(campaign: str, open_page: Any, shop_home: Path, sql: Any) -> None:
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
        rates = pytest.approx(clicks / seen[promotion]), pytest.approx(converting / clicking)
        row = (promotion, word, seen[promotion], clicks, on_site, rates[0], clicking, converting, rates[1])
        if campaign in ("", promotion):
            expected.append(row)
    assert table(page, 1) == expected
    assert len(expected) == (1 if campaign else 6)
    assert {row[1] for row in expected} == ({"on-site"} if campaign else {"on-site", "on-site and campaign"})


def test_a_promotion_that_was_only_seen_is_marked_as_nothing(
    open_page: Any, shop: Shop, tmp_path: Path
) -> None:
    row = {"day": shop.until.date(), "promotion_id": "new", "impressions": 3, "clicks": 0}
    row |= {"clicking_visitors": 0, "converting_visitors": 0}
    build_warehouse(tmp_path, {**shop.tables, "gold.promotion_performance": [row], "gold.touches": []})
    page = open_page(tmp_path, "campaigns", period="All")
    assert table(page, 1) == [("new", None, 3, 0, None, 0.0, 0, 0, None)]


def test_pages_say_which_event_is_missing(open_page: Any, shop: Shop, tmp_path: Path) -> None:
    none = {"gold.result_performance": [], "gold.promotion_performance": []}
    build_warehouse(tmp_path, {**shop.tables, **none})
    assert "Missing: products in Products Searched" in said(open_page(tmp_path, "audience", period="All"))
    assert "Missing: Promotion Viewed" in said(open_page(tmp_path, "campaigns", period="All"))


def test_a_trail_shows_every_kind_of_step_and_what_it_was_matched_on(
    open_page: Any, shop: Shop, tmp_path: Path
) -> None:
    conversion = next(row for row in shop.tables["gold.conversions"] if row["goal"] == "Order Completed")
    start = datetime(2026, 3, 20, tzinfo=timezone.utc)
    steps = [
        {
            "conversion_id": conversion["conversion_id"],
            "converted_at": conversion["converted_at"],
            "step": step,
            "kind": kind,
            "matched_on": matched_on,
            "event_id": f"e{step}",
            "at": start + timedelta(minutes=step),
            "url": f"https://shop.example/{step}",
            "referrer": f"https://shop.example/{step - 1}",
            "promotion_id": "lamp-week" if kind in ("impression", "view", "click") else None,
        }
        for step, (kind, matched_on) in enumerate(WORDS, 1)
    ]
    build_warehouse(tmp_path, shop.tables)
    replace_rows(tmp_path, "gold.trails", steps)
    page = open_page(tmp_path, "conversion", conversion=conversion["conversion_id"])
    shown = page.dataframe[len(page.dataframe) - 1].value
    assert list(shown["words"]) == list(WORDS.values())
    assert list(shown["matched_on"].fillna("")) == [matched_on or "" for _, matched_on in WORDS]
    assert list(shown["kind"]) == [kind.replace("_", " ") for kind, _ in WORDS]
    assert list(shown["url"]) == [step["url"] for step in steps]
    assert list(shown["referrer"]) == [step["referrer"] for step in steps]


def test_parts_of_a_refund_and_a_cancellation_are_conversions_of_their_order(
    open_page: Any, shop: Shop, shop_home: Path, sql: Any
) -> None:
    refunded = sql(
        "SELECT order_id, count(*) FROM gold.conversions WHERE goal = 'Order Refunded'"
        " GROUP BY 1 HAVING count(*) > 1"
    )
    cancelled = sql("SELECT conversion_id FROM gold.conversions WHERE goal = 'Order Cancelled'")
    assert refunded, "the sample has no order with several refunds"
    assert cancelled, "the sample has no cancelled order"
    page = open_page(shop_home, "conversion", conversion=refunded[0][0])
    assert len(page.selectbox[0].options) == 1 + refunded[0][1]
    page = open_page(shop_home, "conversion", conversion=cancelled[0][0])
    assert "takes back from the touches of its order" in said(page)
