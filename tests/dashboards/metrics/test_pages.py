"""Figures shown on pages equal SQL queries that share no code with the pages."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from metrics.attribution import BY

from kit.shop_warehouse import Shop
from kit.shown import chart_rows, metrics, number, said
from millrace.explain.trail_steps import WORDS

_MAX_ROUNDING = 0.0051  # of a table cell with two decimals


def test_overview_shows_totals_and_latest_conversions(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "overview", period="All")
    ((events, sessions, conversions, value),) = sql(
        "SELECT sum(events), sum(sessions), sum(conversions), sum(reporting_value) FROM gold.traffic"
        " WHERE window_kind = '1 minute' AND channel IS NULL"
    )
    shown = metrics(page)
    assert [number(shown[name]) for name in ("Events", "Sessions", "Conversions")] == [
        events,
        sessions,
        conversions,
    ]
    assert number(shown["Value (EUR)"]) == round(float(value), 2)
    newest = sql("SELECT order_id FROM gold.conversions ORDER BY converted_at DESC, conversion_id LIMIT 50")
    assert list(page.dataframe[0].value["order_id"].fillna("")) == [order or "" for (order,) in newest]


def test_overview_compares_events_with_previous_day(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "overview", period="24 hours", channel="Direct")
    ((now, before),) = sql(
        "WITH t AS (SELECT * FROM gold.traffic WHERE window_kind = '1 minute'),"
        " e AS (SELECT max(window_end) - INTERVAL 1 DAY AS day FROM t WHERE channel IS NULL)"
        " SELECT sum(events) FILTER (window_start >= day),"
        " sum(events) FILTER (window_start < day AND window_start >= day - INTERVAL 1 DAY)"
        " FROM t, e WHERE channel = 'Direct'"
    )
    events = next(each for each in page.metric if each.label == "Events")
    assert number(events.value) == now
    assert events.delta.replace("−", "-").replace("±", "") == f"{100 * (now - before) / before:+.0f}%"


@pytest.mark.parametrize("channel", ["", "Email"])
def test_attribution_page_shows_value_by_channel_and_model(
    channel: str, open_page: Any, shop_home: Path, sql: Any
) -> None:
    more = {"channel": channel} if channel else {}
    page = open_page(shop_home, "attribution", period="All", **more)
    expected: dict[str, dict[str, float]] = {}
    for label, model, value in sql(
        "SELECT channel, model, sum(credited_reporting_value) FROM gold.attribution"
        f" WHERE '{channel}' IN ('', channel) GROUP BY ALL"
    ):
        expected.setdefault(label, {})[model] = float(value or 0)
    shown = page.dataframe[0].value.set_index("channel").to_dict("index")
    assert shown == {label: pytest.approx(models, abs=_MAX_ROUNDING) for label, models in expected.items()}
    changed = {label: of["linear"] - of["last_non_direct"] for label, of in expected.items()}
    assert chart_rows(page, 1, "label", "change") == pytest.approx(changed)
    assert "Version of the model: 3." in said(page)
    behind = sql(
        "SELECT conversion_id, max(converted_at) FROM gold.attribution WHERE model = 'last_non_direct'"
        f" AND '{channel}' IN ('', channel) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50"
    )
    assert list(page.dataframe[1].value["conversion_id"]) == [name for name, _ in behind]


_LABELS = {
    "Source": "campaign_source",
    "Medium": "campaign_medium",
    "Campaign": "coalesce(campaign_name, promotion_id)",
    "Term": "campaign_term",
    "Content": "campaign_content",
    "Campaign id": "campaign_id",
    "Click id kind": "click_id_kind",
}


def credited_value_by(sql: Any, by: str) -> dict[str, dict[str, float]]:
    """The credited value by label and model, queried from gold.attribution."""
    expected: dict[str, dict[str, float]] = {}
    for label, model, value in sql(
        f"SELECT coalesce({_LABELS[by]}, 'no {by.lower()} · ' || channel), model,"
        " sum(credited_reporting_value) FROM gold.attribution GROUP BY ALL"
    ):
        expected.setdefault(label, {})[model] = pytest.approx(float(value or 0), abs=_MAX_ROUNDING)
    return expected


@pytest.mark.parametrize("by", _LABELS)
def test_credit_is_grouped_by_campaign_field(by: str, open_page: Any, shop_home: Path, sql: Any) -> None:
    expected = credited_value_by(sql, by)
    assert any(not label.startswith("no ") for label in expected)
    page = open_page(shop_home, "attribution", period="All", by=by)
    column = BY[by]
    assert page.dataframe[0].value.set_index(column).to_dict("index") == expected
    page = open_page(shop_home, "campaigns", period="All", by=by, model="time_decay")
    shown = page.dataframe[2].value.set_index(column)["reporting_value"].to_dict()
    assert shown == {label: of["time_decay"] for label, of in expected.items()}


def test_campaigns_page_shows_totals_and_conversions_by_campaign(
    open_page: Any, shop_home: Path, sql: Any
) -> None:
    page = open_page(shop_home, "campaigns", period="All", model="time_decay")
    ((seen, clicks, visits, value),) = sql(
        "SELECT sum(impressions), sum(clicks), sum(visits), sum(credited_reporting_value)"
        " FROM gold.campaign_performance WHERE model = 'time_decay'"
    )
    shown = metrics(page)
    assert [number(shown[name]) for name in ("Impressions", "Counted clicks", "Visits")] == [
        seen,
        clicks,
        visits,
    ]
    assert number(shown["Value credited (EUR)"]) == round(float(value), 2)
    assert number(shown["Click-through rate"]) == round(100 * clicks / seen, 1)
    ((cost, of_paid),) = sql(
        "WITH total AS (SELECT sum(cost) AS cost, sum(credited_reporting_value) AS value"
        " FROM gold.campaign_performance WHERE model = 'time_decay'"
        " GROUP BY campaign_source, campaign_medium, campaign_name)"
        " SELECT sum(cost), sum(value) FILTER (cost > 0) FROM total"
    )
    assert cost > 0
    assert number(shown["Cost (EUR)"]) == round(float(cost), 2)
    assert number(shown["ROAS"]) == round(float(of_paid / cost), 2)
    credited = {
        tuple(key): conversions
        for *key, conversions in sql(
            "SELECT coalesce(campaign_name, 'no campaign'), coalesce(campaign_source, ''),"
            " coalesce(campaign_medium, ''), sum(conversions) FROM gold.campaign_performance"
            " WHERE model = 'time_decay' GROUP BY ALL"
        )
    }
    names = ["campaign", "source", "medium"]
    table = page.dataframe[0].value.fillna(dict.fromkeys(names, "")).set_index(names)["conversions"]
    assert table.to_dict() == pytest.approx(credited, abs=0.051)
    assert sum(credited.values()) == pytest.approx(
        sql("SELECT count(*) FROM gold.conversions WHERE goal IN ('Order Completed', 'Signed Up')")[0][0]
    )


def test_journeys_page_counts_conversions_by_path(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "journeys", period="All")
    paths = sql(
        "WITH j AS (SELECT conversion_id, sum(credited_reporting_value) AS value,"
        " string_agg(CASE position WHEN 0 THEN 'no touch' ELSE channel END, ' › ' ORDER BY position)"
        " AS path FROM gold.attribution WHERE model = 'linear' GROUP BY 1)"
        " SELECT path, count(*), sum(j.value) FROM j JOIN gold.conversions USING (conversion_id)"
        " WHERE goal IN ('Order Completed', 'Signed Up') GROUP BY 1"
    )
    shown = {row["path"]: row["conversions"] for row in page.dataframe[0].value.to_dict("records")}
    assert shown == {path: count for path, count, _ in paths}
    assert number(metrics(page)["Conversions"]) == sum(count for _, count, _ in paths)
    assert chart_rows(page, 1, "band", "conversions")
    assert sum(chart_rows(page, 1, "band", "conversions").values()) == sum(
        count for path, count, _ in paths if path != "no touch"
    )


def test_journeys_page_counts_trail_steps_by_kind(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "journeys", period="All")
    counted = sql(
        "SELECT kind, matched_on, count(DISTINCT conversion_id), count(*) FROM gold.trails GROUP BY 1, 2"
    )
    assert {(kind, tie) for kind, tie, *_ in counted} >= {("page_view", "session"), ("click", "session")}
    shown = [tuple(row) for row in page.dataframe[1].value.itertuples(index=False)]
    assert shown == [
        (words, conversions, steps)
        for key, words in WORDS.items()
        for kind, tie, conversions, steps in counted
        if (kind, tie) == key
    ]


def test_audience_page_counts_sessions_without_bots_and_searches(
    open_page: Any, shop_home: Path, sql: Any
) -> None:
    page = open_page(shop_home, "audience", period="All")
    people = "FROM silver.sessions WHERE visitor_id NOT IN (SELECT visitor_id FROM silver.bots)"
    ((sessions, views),) = sql(f"SELECT count(*), sum(page_views) {people}")
    assert number(metrics(page)["Sessions"]) == sessions
    assert number(metrics(page)["Pages per session"]) == round(views / sessions, 1)
    _, entries, exits, terms, _ = (element.value for element in page.dataframe)
    for shown, column in ((entries, "entry_url"), (exits, "exit_url")):
        address = f"coalesce(regexp_replace({column}, '(^https?://)|([?#].*$)', '', 'g'), 'unknown')"
        query = f"SELECT {address}, count(*) {people} AND page_views > 0 GROUP BY 1"
        counted = dict(sql(query))
        assert {row.page: row.sessions for row in shown.itertuples()}.items() <= counted.items()
        assert shown["sessions"].max() == max(counted.values())
    searched = dict(sql("SELECT query, sum(searches) FROM gold.search_performance GROUP BY 1"))
    assert dict(zip(terms["query"], terms["searches"], strict=True)) == searched


def test_windows_page_counts_panes_and_late_events(
    open_page: Any, shop: Shop, shop_home: Path, sql: Any
) -> None:
    page = open_page(shop_home, "windows", period="All", window="1 hour")
    panes = dict(
        sql(
            "SELECT pane, count(*) FROM gold.traffic"
            " WHERE window_kind = '1 hour' AND channel IS NULL GROUP BY 1"
        )
    )
    shown = metrics(page)
    assert [number(shown[name]) for name in ("Early", "On time", "Corrected")] == [
        panes.get(pane, 0) for pane in ("early", "on_time", "late")
    ]
    now = sql(
        "SELECT window_start, events FROM gold.traffic WHERE window_kind = '1 hour' AND channel IS NULL"
    )
    then = {
        row["window_start"].replace(tzinfo=None): row["events"]
        for row in shop.on_time
        if row["window_kind"] == "1 hour" and row["channel"] is None
    }
    late = sum(events - then[start] for start, events in now if start in then)
    assert late > 0
    assert number(shown["Late events"]) == late
    assert page.dataframe[0].value["events_change"].sum() == late
    assert number(shown["Other changes"]) == 0
    assert "reaches back to" in said(page)


def test_quality_page_shows_rejections_and_expectation_results(
    open_page: Any, shop_home: Path, shop: Shop, sql: Any
) -> None:
    page = open_page(shop_home, "quality", period="All")
    reasons = dict(sql("SELECT reason, count(*) FROM silver.rejected_events GROUP BY 1"))
    assert reasons
    assert chart_rows(page, 1, "reason", "records") == reasons
    looks = pl.DataFrame(shop.tables["ops.expectations"])
    last = looks.filter(run_id=looks["run_id"].max())
    assert metrics(page)["Expectations met"] == f"{last['success'].sum()} of {last.height}"
    assert len(page.dataframe[2].value) == min(100, max(reasons.values()))


def test_pipeline_page_shows_ledger_counts_and_table_rows(open_page: Any, shop_home: Path, sql: Any) -> None:
    page = open_page(shop_home, "pipeline")
    ((taken, late, refused, copies),) = sql(
        "SELECT sum(input_rows) FILTER (job = 'ingest'), sum(late), sum(rejected), sum(duplicates)"
        " FROM ops.ledger"
    )
    shown = metrics(page)
    assert [number(shown[name]) for name in ("Records taken in", "Refused", "Copies")] == [
        taken,
        refused,
        copies,
    ]
    assert number(shown["Late"]) == round(100 * late / taken, 2)
    tables = page.dataframe[2].value.set_index("table")["rows"].to_dict()
    assert tables["gold.attribution"] == sql("SELECT count(*) FROM gold.attribution")[0][0]


def test_value_is_equal_on_overview_journeys_and_campaigns(open_page: Any, shop_home: Path) -> None:
    overview, journeys, campaigns = (
        number(metrics(open_page(shop_home, view, period="All"))[label])
        for view, label in (
            ("overview", "Value (EUR)"),
            ("journeys", "Value (EUR)"),
            ("campaigns", "Value credited (EUR)"),
        )
    )
    assert overview == journeys == campaigns
    assert overview > 0
