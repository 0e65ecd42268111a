from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from kit.dashboards_folder import DASHBOARDS
from kit.sample_warehouse import Sample, ledger_rows, sample_warehouse, traffic_of
from kit.warehouse_builder import append_rows, build_warehouse

UNTIL = datetime(2018, 2, 3, 21, 17, 30, tzinfo=timezone.utc)
HOSTILE = [
    "<script>document.title='owned'</script><img src=x onerror=alert(1)>",
    "# **bold** [link](javascript:alert(1)) ![x](http://x.invalid/y.png) :material/home: $\\frac{1}{0}$",
    "\u202e\u2067 مرحبا بالعالم שלום",
    "x" * 10_240,
    "{{ 7 * 7 }} %s %n ${jndi} '; DROP TABLE events; --\r\n\t\x00\x1b[31m",
    "",
    "🧵" * 300,
]

Open = Callable[..., AppTest]


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Open:
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    monkeypatch.delenv("MILLRACE_REPORTING_CURRENCY", raising=False)

    def open_it(**query: str) -> AppTest:
        page = AppTest.from_file(str(DASHBOARDS / "app.py"), default_timeout=30)
        page.query_params.update(query)
        page.run()
        assert not page.exception
        return page

    return open_it


@pytest.fixture(scope="module")
def sample() -> Sample:
    return sample_warehouse(UNTIL, hours=30, visits=500)


def metrics(page: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in page.metric}


def texts(page: AppTest) -> str:
    return "\n".join(element.value for element in page.text)


def test_an_empty_warehouse_is_a_page_that_says_so(open_page: Open) -> None:
    page = open_page()
    assert "No events yet" in page_markdown(page)
    assert "This page fills by itself" in texts(page)
    assert not page.metric


def test_records_that_wait_in_bronze_are_announced(open_page: Open, tmp_path: Path) -> None:
    append_rows(tmp_path, "bronze.kafka_records", [{"topic": "events", "offset": n} for n in range(1234)])
    assert "1,234 records have arrived" in texts(open_page())


def expected_metrics(sample: Sample, since: datetime) -> dict[str, str]:
    events = [event for event in sample.tables["silver.events"] if event["event_time"] >= since]
    converted = [row for row in sample.tables["gold.conversions"] if row["converted_at"] >= since]
    value = sum((row["reporting_value"] or Decimal(0) for row in converted), Decimal(0))
    return {
        "Events": f"{len(events):,}",
        "Visitors": f"{len({event['visitor_id'] for event in events}):,}",
        "Sessions": f"{sum(row['started_at'] >= since for row in sample.tables['silver.sessions']):,}",
        "Conversions": f"{len(converted):,}",
        "Value (EUR)": f"{value:,.2f}",
    }


@pytest.mark.parametrize(
    ("period", "hours"), [("Last hour", 1), ("6 hours", 6), ("24 hours", 24), ("All", 99)]
)
def test_figures_equal_a_count_over_the_rows(
    open_page: Open, tmp_path: Path, sample: Sample, period: str, hours: int
) -> None:
    build_warehouse(tmp_path, sample.tables)
    latest = max(event["event_time"] for event in sample.tables["silver.events"])
    end = latest.replace(second=0, microsecond=0) + timedelta(minutes=1)
    page = open_page(period=period)
    assert page.segmented_control(key="period").value == period
    assert metrics(page) == expected_metrics(sample, end - timedelta(hours=hours))


def test_tables_and_choices_of_the_page(open_page: Open, tmp_path: Path, sample: Sample) -> None:
    build_warehouse(tmp_path, sample.tables)
    page = open_page(period="All", by="Channel")
    credit, sessions, conversions = (element.value for element in page.dataframe)
    counted = Counter(row["channel"] for row in sample.tables["gold.attribution"] if row["model"] == "last")
    assert dict(zip(credit["label"], credit["conversions_last"].fillna(0), strict=True)) == {
        label: counted[label] for label in credit["label"]
    }
    newest = sorted(sample.tables["silver.sessions"], key=lambda row: row["started_at"], reverse=True)[:50]
    assert list(sessions["visitor_id"]) == [row["visitor_id"] for row in newest]
    latest = sorted(sample.tables["gold.conversions"], key=lambda row: row["converted_at"], reverse=True)[:50]
    assert list(conversions["order_id"]) == [row["order_id"] for row in latest]


def test_a_question_in_the_address_that_makes_no_sense_is_ignored(
    open_page: Open, tmp_path: Path, sample: Sample
) -> None:
    build_warehouse(tmp_path, sample.tables)
    assert open_page(period="<b>", by="x").segmented_control(key="period").value == "24 hours"


def test_freshness_is_told(open_page: Open, tmp_path: Path, sample: Sample) -> None:
    build_warehouse(tmp_path, sample.tables)
    assert ":orange-badge[Stale]" in page_markdown(open_page())
    now = datetime.now(timezone.utc)
    append_rows(tmp_path, "ops.ledger", ledger_rows(now, sample.watermark))
    page = open_page()
    assert ":green-badge[Live]" in page_markdown(page)
    assert f"{sample.watermark:%Y-%m-%d %H:%M:%S} UTC" in texts(page)
    assert f"{len(sample.tables['silver.events']):,}" in texts(page)


def test_what_events_hold_is_never_markdown_or_html(open_page: Open, tmp_path: Path) -> None:
    sample = sample_warehouse(UNTIL, hours=2, visits=len(HOSTILE) * 40)
    for name in ("silver.sessions", "gold.conversions", "gold.attribution"):
        for number, row in enumerate(sample.tables[name]):
            row.update(hostile(row, HOSTILE[number % len(HOSTILE)]))
    sample.tables["gold.traffic"] = traffic_of(sample)
    build_warehouse(tmp_path, sample.tables)
    for by in ("Campaign", "Channel"):
        page = open_page(period="All", by=by)
        said = page_markdown(page) + texts(page) + "".join(metrics(page))
        for text in filter(None, HOSTILE):
            assert text[:20] not in said
        longest = max(
            frame.value.select_dtypes("object").map(lambda v: len(str(v))).max().max()
            for frame in page.dataframe
        )
        assert longest <= 201


def test_tables_without_gold_leave_room_for_words(open_page: Open, tmp_path: Path, sample: Sample) -> None:
    build_warehouse(tmp_path, {name: sample.tables[name] for name in ("silver.events", "silver.sessions")})
    said = texts(open_page())
    assert "No events in this period." in said
    assert "No conversions to credit in this period." in said


def hostile(row: dict[str, Any], text: str) -> dict[str, str]:
    names = (
        "visitor_id",
        "person_id",
        "entry_url",
        "campaign_name",
        "channel",
        "goal",
        "order_id",
        "currency",
    )
    return {name: text for name in names if name in row}


def page_markdown(page: AppTest) -> str:
    return "\n".join(e.value for e in (*page.markdown, *page.caption, *page.title, *page.subheader))
