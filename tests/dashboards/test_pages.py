"""Each page over an empty warehouse, a shop's, a stale one, a closed gate, and hostile text."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from kit.dashboards_folder import VIEWS
from kit.sample_gates import expectation_rows, gate_rows
from kit.shop_warehouse import Shop
from kit.warehouse_builder import append_rows, build_warehouse, schema_of

HOSTILE = [
    "<script>document.title='owned'</script><img src=x onerror=alert(1)>",
    "# **bold** [link](javascript:alert(1)) ![x](http://x.invalid/y.png) :material/home: $\\frac{1}{0}$",
    "\u202e\u2067 مرحبا بالعالم שלום",
    "x" * 10_240,
    "=cmd|'/c calc'!A1 {{ 7 * 7 }} %s %n ${jndi} '; DROP TABLE events; --\r\n\t\x00\x1b[31m",
    "🧵" * 300,
]
KEPT = {
    "window_kind",
    "model",
    "pane",
    "change",
    "job",
    "run_id",
    "table",
    "conversion_id",
    "severity",
    "outcome",
}


def metrics(page: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in page.metric}


def said(page: AppTest) -> str:
    """All that is rendered as markdown, or stands as text."""
    kinds = (page.markdown, page.caption, page.title, page.subheader, page.text, page.code)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-").removesuffix(" %"))


@pytest.mark.parametrize("view", VIEWS)
def test_an_empty_warehouse_is_a_page_that_says_so(view: str, open_page: Any, tmp_path: Path) -> None:
    page = open_page(tmp_path, view)
    assert ":gray-badge[:material/inbox: No data yet]" in said(page)
    if view in ("quality", "pipeline"):
        assert metrics(page)
    else:
        assert "No events yet" in said(page)
        assert "This page fills by itself" in said(page)
        assert not page.metric


def test_records_that_wait_in_bronze_are_announced(open_page: Any, tmp_path: Path) -> None:
    append_rows(tmp_path, "bronze.kafka_records", [{"topic": "events", "offset": n} for n in range(1234)])
    assert "1,234 records have arrived" in said(open_page(tmp_path, "overview"))


class TestFigures:
    """What pages say over a shop equals queries that share no code with them."""

    def test_overview(self, open_page: Any, shop_home: Path, sql: Any) -> None:
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
        newest = sql(
            "SELECT order_id FROM gold.conversions ORDER BY converted_at DESC, conversion_id LIMIT 50"
        )
        assert list(page.dataframe[0].value["order_id"].fillna("")) == [order or "" for (order,) in newest]

    def test_overview_of_a_day_against_the_day_before(
        self, open_page: Any, shop_home: Path, sql: Any
    ) -> None:
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
        assert events.delta.replace("−", "-").replace("±", "") == f"{100 * (now - before) / before:+.0f} %"

    @pytest.mark.parametrize("channel", ["", "Email"])
    def test_attribution(self, channel: str, open_page: Any, shop_home: Path, sql: Any) -> None:
        more = {"channel": channel} if channel else {}
        page = open_page(shop_home, "attribution", period="All", **more)
        expected: dict[str, dict[str, float]] = {}
        for label, model, value in sql(
            "SELECT channel, model, sum(credited_reporting_value) FROM gold.attribution"
            f" WHERE '{channel}' IN ('', channel) GROUP BY ALL"
        ):
            expected.setdefault(label, {})[model] = float(value or 0)
        shown = page.dataframe[0].value.set_index("label").to_dict("index")
        assert shown == {label: pytest.approx(models) for label, models in expected.items()}
        changed = {label: of["linear"] - of["last_non_direct"] for label, of in expected.items()}
        assert chart_rows(page, 1, "label", "change") == pytest.approx(changed)
        assert "Version of the model: 3." in said(page)

    def test_a_conversion(self, open_page: Any, shop_home: Path, sql: Any) -> None:
        ((wanted, order, touches),) = sql(
            "SELECT conversion_id, order_id, touches FROM gold.conversions WHERE order_id IS NOT NULL"
            " AND goal = 'Order Completed' ORDER BY touches DESC, conversion_id LIMIT 1"
        )
        page = open_page(shop_home, "conversion", conversion=wanted[:12])
        credit, *arithmetic, trail = (element.value for element in page.dataframe)
        assert len(credit) == touches
        rows = sql(f"SELECT model, position, credit FROM gold.attribution WHERE conversion_id = '{wanted}'")
        shown = {
            (m, row["position"]): row[m] for row in credit.to_dict("records") for m in credit if m in MODELS
        }
        assert shown == pytest.approx({(model, position): share for model, position, share in rows})
        assert "Credits of each model sum to 1." in said(page)
        steps = sql(f"SELECT kind FROM gold.trails WHERE conversion_id = '{wanted}' ORDER BY step")
        assert list(trail["kind"]) == [kind for (kind,) in steps]
        ((worth,),) = sql(f"SELECT reporting_value FROM gold.conversions WHERE conversion_id = '{wanted}'")
        assert len(arithmetic) == len(MODELS)
        assert [round(table["value"].sum(), 4) for table in arithmetic] == [float(worth)] * len(MODELS)
        assert order in said(page)

    def test_a_refund_is_told_by_its_order(self, open_page: Any, shop_home: Path, sql: Any) -> None:
        refunds = sql(
            "SELECT r.conversion_id FROM gold.conversions r JOIN gold.conversions o USING (order_id)"
            " WHERE r.goal = 'Order Refunded' AND o.goal = 'Order Completed'"
        )
        assert refunds, "the sample has no refund of an order"
        page = open_page(shop_home, "conversion", conversion=refunds[0][0])
        assert "takes back from the touches of its order" in said(page)

    def test_campaigns(self, open_page: Any, shop_home: Path, sql: Any) -> None:
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
        assert number(shown["Click-through"]) == round(100 * clicks / seen, 1)
        assert page.dataframe[0].value["conversions"].sum() == pytest.approx(
            sql("SELECT count(*) FROM gold.conversions")[0][0]
        )

    def test_journeys(self, open_page: Any, shop_home: Path, sql: Any) -> None:
        page = open_page(shop_home, "journeys", period="All")
        paths = sql(
            "WITH j AS (SELECT conversion_id, sum(credited_reporting_value) AS value,"
            " string_agg(CASE position WHEN 0 THEN 'no touch' ELSE channel END, ' › ' ORDER BY position)"
            " AS path FROM gold.attribution WHERE model = 'linear' GROUP BY 1)"
            " SELECT path, count(*), sum(value) FROM j WHERE coalesce(value, 0) >= 0 GROUP BY 1"
        )
        shown = {row["path"]: row["conversions"] for row in page.dataframe[0].value.to_dict("records")}
        assert shown == {path: count for path, count, _ in paths}
        assert number(metrics(page)["Conversions"]) == sum(count for _, count, _ in paths)
        assert chart_rows(page, 1, "band", "conversions")
        assert sum(chart_rows(page, 1, "band", "conversions").values()) == sum(
            count for path, count, _ in paths if path != "no touch"
        )

    def test_audience(self, open_page: Any, shop_home: Path, sql: Any) -> None:
        page = open_page(shop_home, "audience", period="All")
        people = "FROM silver.sessions WHERE visitor_id NOT IN (SELECT visitor_id FROM silver.bots)"
        ((sessions, views),) = sql(f"SELECT count(*), sum(page_views) {people}")
        assert number(metrics(page)["Sessions"]) == sessions
        assert number(metrics(page)["Pages each"]) == round(views / sessions, 1)
        entries, exits, terms = (element.value for element in page.dataframe)
        for shown, column in ((entries, "entry_url"), (exits, "exit_url")):
            address = f"coalesce(regexp_replace({column}, '(^https?://)|([?#].*$)', '', 'g'), 'unknown')"
            query = f"SELECT {address}, count(*) {people} GROUP BY 1"
            counted = dict(sql(query))
            assert {row.page: row.sessions for row in shown.itertuples()}.items() <= counted.items()
            assert shown["sessions"].max() == max(counted.values())
        searched = dict(sql("SELECT query, sum(searches) FROM gold.search_performance GROUP BY 1"))
        assert dict(zip(terms["query"], terms["searches"], strict=True)) == searched

    def test_windows(self, open_page: Any, shop_home: Path, sql: Any) -> None:
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
        ((brought,),) = sql(
            "SELECT sum(CASE change WHEN 'replace' THEN events ELSE -events END) FROM gold.traffic_changes"
            " WHERE window_kind = '1 hour' AND channel IS NULL AND (change = 'retract' OR pane = 'late')"
        )
        assert brought > 0
        assert number(shown["Events brought late"]) == brought
        assert page.dataframe[0].value["events_change"].sum() == brought

    def test_quality(self, open_page: Any, shop_home: Path, shop: Shop, sql: Any) -> None:
        page = open_page(shop_home, "quality", period="All")
        reasons = dict(sql("SELECT reason, count(*) FROM silver.rejected_events GROUP BY 1"))
        assert reasons
        assert chart_rows(page, 1, "reason", "records") == reasons
        looks = pl.DataFrame(shop.tables["ops.expectations"])
        last = looks.filter(run_id=looks["run_id"].max())
        assert metrics(page)["Expectations met"] == f"{last['success'].sum()} of {last.height}"
        assert len(page.dataframe[1].value) == min(100, max(reasons.values()))

    def test_pipeline(self, open_page: Any, shop_home: Path, sql: Any) -> None:
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


MODELS = ("first", "last", "last_non_direct", "linear", "position_based", "time_decay")


def chart_rows(page: AppTest, place: int, label: str, measure: str) -> dict[str, float]:
    """What a chart of the page draws: its data, by label."""
    chart = page.get("vega_lite_chart")[place].proto
    frame = pl.read_ipc_stream(chart.datasets[0].data.data)
    return dict(frame.select(label, measure).iter_rows())


@pytest.mark.parametrize("view", VIEWS)
def test_stale_figures_are_said_to_be_so(view: str, open_page: Any, shop_home: Path) -> None:
    text = said(open_page(shop_home, view))
    assert ":orange-badge[:material/pause_circle: Stale]" in text
    assert "figures are as of then" in text


def test_fresh_figures_are_live(open_page: Any, shop: Shop, tmp_path: Path) -> None:
    now = datetime.now(timezone.utc)
    build_warehouse(tmp_path, {"silver.events": shop.tables["silver.events"][:9]})
    rows = [{**row, "started_at": now, "position": now} for row in shop.tables["ops.ledger"][-4:]]
    append_rows(tmp_path, "ops.ledger", rows)
    assert ":green-badge[:material/bolt: Live]" in said(open_page(tmp_path, "pipeline"))


@pytest.mark.parametrize("view", VIEWS)
def test_a_closed_gate_is_in_sight_on_every_page(
    view: str, open_page: Any, shop: Shop, tmp_path: Path
) -> None:
    few = {name: rows[:40] for name, rows in shop.tables.items() if name != "ops.expectations"}
    build_warehouse(tmp_path, few)
    append_rows(tmp_path, "ops.expectations", expectation_rows(shop.until, 4, closed=True))
    append_rows(tmp_path, "ops.gates", gate_rows(shop.until, "closed", "opened", "closed"))
    text = said(open_page(tmp_path, view))
    assert ":red-badge[:material/lock: Gate closed]" in text
    assert "Why: events have a known role" in text
    append_rows(tmp_path, "ops.gates", [{"sequence": 3, "state": "released", "at": shop.until}])
    assert ":green-badge[:material/lock_open: Gate open]" in said(open_page(tmp_path, view))


@pytest.mark.parametrize("view", VIEWS)
def test_what_events_hold_is_never_markdown_or_html(view: str, open_page: Any, hostile_home: Path) -> None:
    page = open_page(hostile_home, view, period="All")
    assert_nothing_hostile_is_rendered(page)
    cells = [
        len(str(cell))
        for table in page.dataframe
        for cell in table.value.select_dtypes("object").to_numpy().ravel().tolist()
    ]
    assert max(cells, default=0) <= 2 * 201 + 20


def assert_nothing_hostile_is_rendered(page: AppTest) -> None:
    kinds = (page.markdown, page.caption, page.title, page.subheader)
    rendered = "\n".join(str(element.value) for kind in kinds for element in kind)
    rendered += "".join(f"{metric.label}{metric.value}{metric.help}" for metric in page.metric)
    assert [text[:20] for text in HOSTILE if text[:20] in rendered] == []


@pytest.fixture(scope="module")
def hostile_home(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop, with hostile text wherever text is free."""
    home = tmp_path_factory.mktemp("hostile")
    for name, rows in shop.tables.items():
        texts = [
            column for column, kind in schema_of(name).items() if kind == pl.String and column not in KEPT
        ]
        spoilt = [
            {**row, **{column: HOSTILE[(at + place) % len(HOSTILE)] for place, column in enumerate(texts)}}
            for at, row in enumerate(rows[:400])
        ]
        append_rows(home, name, spoilt)
    return home


def test_a_conversion_chosen_from_the_list_is_asked_for(open_page: Any, shop: Shop, shop_home: Path) -> None:
    page = open_page(shop_home, "conversion", period="All")
    chosen = shop.tables["gold.conversions"][3]["conversion_id"]
    page.session_state["chosen-conversion"] = chosen
    page.run()
    assert not page.exception
    assert page.text_input(key="conversion").value == chosen
    assert "Credits of each model sum to 1." in said(page)


def test_a_hostile_conversion_can_be_opened(open_page: Any, shop: Shop, hostile_home: Path) -> None:
    for row in shop.tables["gold.conversions"][:3]:
        page = open_page(hostile_home, "conversion", conversion=row["conversion_id"])
        assert len(page.dataframe) == 2 + len(MODELS)
        assert_nothing_hostile_is_rendered(page)


def test_a_question_in_the_address_that_makes_no_sense_is_ignored(open_page: Any, shop_home: Path) -> None:
    page = open_page(shop_home, "attribution", period="<b>", by="x", model="y", channel="<img>")
    assert page.segmented_control(key="period").value == "24 hours"
    assert page.selectbox(key="model").value == "last_non_direct"


def test_a_download_has_all_rows_and_no_formulas(open_page: Any, tmp_path: Path) -> None:
    from placing import as_csv

    rows = pl.DataFrame(
        {
            "name": ["=1+1", "@x", "plain, with comma", None, "x" * 5000],
            "at": [datetime(2026, 1, 2, 3, tzinfo=timezone.utc)] * 5,
        }
    )
    lines = as_csv(rows).decode().splitlines()
    assert lines[:4] == [
        "name,at",
        "'=1+1,2026-01-02T03:00:00.000000Z",
        "'@x,2026-01-02T03:00:00.000000Z",
        '"plain, with comma",2026-01-02T03:00:00.000000Z',
    ]
    assert len(lines[5]) > 5000
