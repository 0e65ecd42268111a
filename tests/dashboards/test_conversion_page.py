"""The conversion page: credits, trail, refunds and cancellations of an order."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kit.shop_warehouse import Shop
from kit.shown import MODELS, said
from kit.warehouse_builder import build_warehouse, replace_rows
from millrace.explain.trail_steps import WORDS, in_words


def test_conversion_page_shows_credits_trail_and_value(open_page: Any, shop_home: Path, sql: Any) -> None:
    ((wanted, order, touches),) = sql(
        "SELECT conversion_id, order_id, touches FROM gold.conversions WHERE order_id IS NOT NULL"
        " AND goal = 'Order Completed' ORDER BY touches DESC, conversion_id LIMIT 1"
    )
    page = open_page(shop_home, "conversion", conversion=wanted[:12])
    credit, *arithmetic, trail = (element.value for element in page.dataframe)
    assert len(credit) == touches
    rows = sql(f"SELECT model, position, credit FROM gold.attribution WHERE conversion_id = '{wanted}'")
    shown = {(m, row["position"]): row[m] for row in credit.to_dict("records") for m in credit if m in MODELS}
    credits_ = {(model, position): share for model, position, share in rows}
    assert shown == pytest.approx(credits_, abs=0.000051)
    assert "Credits of each model sum to 1." in said(page)
    steps = sql(
        f"SELECT kind, matched_on, url FROM gold.trails WHERE conversion_id = '{wanted}' ORDER BY step"
    )
    assert list(trail["words"]) == [in_words(kind, tie) for kind, tie, _ in steps]
    assert list(trail["matched_on"].fillna("")) == [tie or "" for _, tie, _ in steps]
    assert list(trail["address"]) == [url.removeprefix("https://") for *_, url in steps]
    ((worth,),) = sql(f"SELECT reporting_value FROM gold.conversions WHERE conversion_id = '{wanted}'")
    assert len(arithmetic) == len(MODELS)
    assert [round(table["value"].sum(), 4) for table in arithmetic] == [float(worth)] * len(MODELS)
    assert order in said(page)


def test_credit_arithmetic_uses_half_life_of_rules_file(
    open_page: Any, shop_home: Path, sql: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((wanted,),) = sql("SELECT conversion_id FROM gold.conversions WHERE touches > 1 ORDER BY 1 LIMIT 1")
    (tmp_path / "bundle.yml").write_text("")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "rules.yml").write_text("half_life: P3D\n")
    monkeypatch.chdir(tmp_path)
    page = open_page(shop_home, "conversion", conversion=wanted)
    reasons = [why for table in page.dataframe if "why" in table.value for why in table.value["why"]]
    assert any(" / 3 d)" in why for why in reasons)
    assert not any(" / 7 d)" in why for why in reasons)


def test_refund_page_refers_to_touches_of_its_order(open_page: Any, shop_home: Path, sql: Any) -> None:
    refunds = sql(
        "SELECT r.conversion_id FROM gold.conversions r JOIN gold.conversions o USING (order_id)"
        " WHERE r.goal = 'Order Refunded' AND o.goal = 'Order Completed'"
    )
    assert refunds, "the sample has no refund of an order"
    page = open_page(shop_home, "conversion", conversion=refunds[0][0])
    assert "takes back from the touches of its order" in said(page)


def test_cut_refund_page_says_what_was_sent(open_page: Any, shop: Shop, tmp_path: Path) -> None:
    refund = next(row for row in shop.tables["gold.conversions"] if row["goal"] == "Order Refunded")
    cut = {**refund, "value": Decimal("-35.5"), "value_sent": Decimal(-50), "over_refunded": True}
    build_warehouse(tmp_path, shop.tables)
    replace_rows(tmp_path, "gold.conversions", [cut])
    page = open_page(tmp_path, "conversion", conversion=refund["conversion_id"])
    sent = f"−50.00 {refund['currency']} was sent, more than was left of the order"
    assert sent in said(page)


def test_trail_shows_every_step_kind_and_its_match_key(open_page: Any, shop: Shop, tmp_path: Path) -> None:
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
            "referrer": "https://shop.example.evil/" if step == 2 else f"https://shop.example/{step - 1}",
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
    assert list(shown["address"]) == [step["url"].removeprefix("https://") for step in steps]
    before = ["/0", "shop.example.evil/", *(f"/{step}" for step in range(2, len(steps)))]
    assert list(shown["page_before"]) == before


def test_partial_refunds_and_cancellation_are_conversions_of_their_order(
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
