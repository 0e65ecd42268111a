"""Custom dimensions on page Audience: over the shop, as its tables have them."""

from pathlib import Path
from typing import Any

import pytest

from kit.shown import chart_rows

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
    rows = sql(f"SELECT coalesce(value, '(not set)'), {SUMS} {WHERE} '{name}' GROUP BY 1 ORDER BY 2 DESC, 1")
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
