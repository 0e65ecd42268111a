"""Custom dimensions on page Audience: over the shop, as its tables have them."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kit.shop_warehouse import Shop
from kit.shown import chart_rows
from kit.warehouse_builder import build_warehouse

STEPS = ("impression", "click", "visit", "search", "order")
SUMS = "sum(visits), sum(conversions), sum(credited_reporting_value)"
WHERE = "FROM gold.dimension_performance WHERE model = 'last_non_direct' AND dimension ="


@pytest.mark.parametrize("dimension", [None, "system"])
def test_values_of_a_dimension_are_summed(
    dimension: str | None, open_page: Any, shop_home: Path, sql: Any
) -> None:
    chosen = {"dimension": dimension} if dimension else {}
    page = open_page(shop_home, "audience", period="All", **chosen)
    assert page.selectbox(key="dimension").options == ["device", "system"]
    name = dimension or "device"
    shown = f"SELECT coalesce(value, '(not set)'), {SUMS} {WHERE} '{name}'"
    rows = sql(f"{shown} GROUP BY 1 ORDER BY 2 DESC, 3 DESC, 1")
    assert len(rows) > 2
    assert chart_rows(page, len(page.get("vega_lite_chart")) - 1, "value", "visits") == {
        value: visits for value, visits, *_ in rows[:14]
    }
    shown = page.dataframe[-1].value.to_numpy().tolist()
    assert [row[:2] for row in shown] == [[value, visits] for value, visits, *_ in rows]
    for row, (_, visits, conversions, credited) in zip(shown, rows, strict=True):
        assert row[2] == pytest.approx(conversions, abs=0.05)
        assert row[3] == pytest.approx(conversions / visits, abs=0.0005)
        assert row[4] == pytest.approx(float(credited), abs=0.005)


def test_chosen_channel_filters_values(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "audience", period="All", channel="Email")
    [(visits,)] = sql(f"SELECT sum(visits) {WHERE} 'device' AND channel = 'Email'")
    assert page.dataframe[-1].value.iloc[:, 1].sum() == visits > 0


def test_funnel_is_split_by_chosen_dimension(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "audience", period="All", funnel="system")
    assert page.selectbox(key="funnel").options == ["device", "system"]
    steps = ", ".join(f"sum(visitors) FILTER (step = '{step}')" for step in STEPS)
    rows = sql(
        f"SELECT coalesce(value, '(not set)'), {steps} FROM gold.funnel_by_dimension"
        " WHERE dimension = 'system' GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    table = page.dataframe[0].value
    assert table.iloc[:, :6].to_numpy().tolist() == [list(row) for row in rows]
    assert list(table["rate"]) == pytest.approx([row[5] / row[1] for row in rows], abs=0.0005)
    whole = sql("SELECT step, sum(visitors) FROM gold.funnel GROUP BY 1")
    chart = page.get("vega_lite_chart")[0].proto
    shown = pl.read_ipc_stream(chart.datasets[0].data.data)
    assert dict(shown.group_by("step").agg(pl.col("visitors").sum()).iter_rows()) == dict(whole)


def test_funnel_is_whole_without_choice(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "audience", period="All")
    whole = sql("SELECT step, sum(visitors) FROM gold.funnel GROUP BY 1")
    assert chart_rows(page, 0, "step", "visitors") == dict(whole)


def test_values_after_the_first_five_are_one_part_of_the_chart(open_page: Any) -> None:
    from widgets.funnel_chart import ALL_OTHERS, by_step

    values = [[f"v{number}", *range(20 - number, 15 - number, -1)] for number in range(7)]
    rows = by_step(pl.DataFrame(values, ["value", *STEPS], orient="row"))
    assert rows["step"].unique(maintain_order=True).to_list() == list(STEPS)
    of_first = rows.filter(pl.col("step") == "impression")
    assert of_first["value"].to_list() == ["v0", "v1", "v2", "v3", "v4", ALL_OTHERS]
    assert of_first["visitors"].to_list() == [20, 19, 18, 17, 16, 15 + 14]


@pytest.mark.parametrize(("visits", "shown"), [(0, "Conversions"), (1, "Visits")])
def test_dimension_without_visits_is_shown_by_conversions(
    visits: int, shown: str, open_page: Any, shop: Shop, tmp_path: Path
) -> None:
    row = shop.tables["gold.dimension_performance"][0] | {"dimension": "plan", "model": "last_non_direct"}
    rows = [
        row | {"value": value, "visits": 5 if value is None else visits, "conversions": conversions}
        for value, conversions in ((None, 1.0), ("free", 1.5), ("pro", 3.0))
    ]
    build_warehouse(tmp_path, {**shop.tables, "gold.dimension_performance": rows})
    page = open_page(tmp_path, "audience", period="All")
    chart = page.get("vega_lite_chart")[-1].proto
    assert f"{shown} by plan" in chart.spec
    assert page.dataframe[-1].value.iloc[:, 0].tolist() == ["(not set)", "pro", "free"]
