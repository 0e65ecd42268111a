"""Each page with an empty warehouse, stale data, a closed gate, or hostile text."""

import json
import os
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from kit.dashboards_folder import VIEWS
from kit.sample_gates import expectation_rows, gate_rows
from kit.shop_warehouse import Shop
from kit.shown import MODELS, metrics, said
from kit.warehouse_builder import append_rows, build_warehouse, schema_of

HOSTILE = [
    "<script>document.title='owned'</script><img src=x onerror=alert(1)>",
    "# **bold** [link](javascript:alert(1)) ![x](http://x.invalid/y.png) :material/home: $\\frac{1}{0}$",
    "\u202e\u2067 مرحبا بالعالم שלום",
    "x" * 10_240,
    "=cmd|'/c calc'!A1 {{ 7 * 7 }} %s %n ${jndi} '; DROP TABLE events; --\r\n\t\x00\x1b[31m",
    "🧵" * 300,
]
UNCHANGED_COLUMNS = {
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


@pytest.mark.parametrize("view", VIEWS)
def test_page_over_empty_warehouse_states_that_there_is_no_data(
    view: str, open_page: Any, tmp_path: Path
) -> None:
    page = open_page(tmp_path, view)
    assert ":gray-badge[:material/inbox: No data yet]" in said(page)
    if view in ("quality", "pipeline"):
        assert metrics(page)
    else:
        assert "No events yet" in said(page)
        assert "This page fills by itself" in said(page)
        assert not page.metric


def test_catalog_without_warehouse_id_names_missing_setting(
    open_page: Any, shop_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILLRACE_CATALOG", "shop")
    monkeypatch.delenv("DATABRICKS_WAREHOUSE_ID", raising=False)
    page = open_page(shop_home, "overview")
    assert "catalog shop" in page.text[0].value
    assert "DATABRICKS_WAREHOUSE_ID" in page.text[0].value
    assert not page.metric


def test_overview_counts_records_pending_in_bronze(open_page: Any, tmp_path: Path) -> None:
    append_rows(tmp_path, "bronze.kafka_records", [{"topic": "events", "offset": n} for n in range(1234)])
    assert "1,234 records have arrived" in said(open_page(tmp_path, "overview"))


@pytest.mark.parametrize("view", VIEWS)
def test_stale_figures_are_labelled_stale(view: str, open_page: Any, shop_home: Path) -> None:
    text = said(open_page(shop_home, view))
    assert ":orange-badge[:material/pause_circle: Stale]" in text
    assert "figures are as of then" in text


def test_running_jobs_without_recent_batch_are_labelled_idle(
    open_page: Any, shop: Shop, tmp_path: Path
) -> None:
    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    build_warehouse(tmp_path, {"silver.events": shop.tables["silver.events"][:9]})
    rows = [{**row, "started_at": hour_ago, "position": hour_ago} for row in shop.tables["ops.ledger"][-4:]]
    append_rows(tmp_path, "ops.ledger", rows)
    (tmp_path / "run").mkdir()
    engine = {"state": "running", "pid": os.getpid()}
    (tmp_path / "run" / "workspace.json").write_text(json.dumps({"processes": {"engine": engine}}))
    text = said(open_page(tmp_path, "pipeline"))
    assert ":gray-badge[:material/bedtime: Idle]" in text
    assert "figures are as of then" not in text


def test_fresh_figures_are_labelled_live(open_page: Any, shop: Shop, tmp_path: Path) -> None:
    now = datetime.now(timezone.utc)
    build_warehouse(tmp_path, {"silver.events": shop.tables["silver.events"][:9]})
    rows = [{**row, "started_at": now, "position": now} for row in shop.tables["ops.ledger"][-4:]]
    append_rows(tmp_path, "ops.ledger", rows)
    assert ":green-badge[:material/bolt: Live]" in said(open_page(tmp_path, "pipeline"))


@pytest.fixture(scope="module")
def closed_gate_home(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose gate is closed."""
    home = tmp_path_factory.mktemp("held")
    few = {name: rows[:40] for name, rows in shop.tables.items() if name != "ops.expectations"}
    build_warehouse(home, few)
    append_rows(home, "ops.expectations", expectation_rows(shop.until, 4, closed=True))
    append_rows(home, "ops.gates", gate_rows(shop.until, "closed", "opened", "closed"))
    return home


@pytest.mark.parametrize("view", VIEWS)
def test_closed_gate_is_shown_on_every_page(view: str, open_page: Any, closed_gate_home: Path) -> None:
    text = said(open_page(closed_gate_home, view))
    assert ":red-badge[:material/lock: Gate closed]" in text
    assert "Why: events have a known role" in text


def test_released_gate_is_shown_as_open(
    open_page: Any, shop: Shop, closed_gate_home: Path, tmp_path: Path
) -> None:
    home = shutil.copytree(closed_gate_home, tmp_path / "home")
    append_rows(home, "ops.gates", [{"sequence": 3, "state": "released", "at": shop.until}])
    assert ":green-badge[:material/lock_open: Gate open]" in said(open_page(home, "overview"))


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_text_is_not_rendered_as_markdown_or_html(
    view: str, open_page: Any, hostile_home: Path
) -> None:
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
    """The shop with hostile text in every free-text column."""
    home = tmp_path_factory.mktemp("hostile")
    for name, rows in shop.tables.items():
        texts = [
            column
            for column, kind in schema_of(name).items()
            if kind == pl.String and column not in UNCHANGED_COLUMNS
        ]
        hostile = [
            {**row, **{column: HOSTILE[(at + place) % len(HOSTILE)] for place, column in enumerate(texts)}}
            for at, row in enumerate(rows[:400])
        ]
        append_rows(home, name, hostile)
    return home


def test_conversion_chosen_from_list_is_shown(open_page: Any, shop: Shop, shop_home: Path) -> None:
    page = open_page(shop_home, "conversion", period="All")
    chosen = shop.tables["gold.conversions"][3]["conversion_id"]
    page.session_state["chosen-conversion"] = chosen
    page.run()
    assert not page.exception
    assert page.text_input(key="conversion").value == chosen
    assert "Credits of each model sum to 1." in said(page)


def test_conversion_with_hostile_text_can_be_opened(open_page: Any, shop: Shop, hostile_home: Path) -> None:
    for row in shop.tables["gold.conversions"][:3]:
        page = open_page(hostile_home, "conversion", conversion=row["conversion_id"])
        assert len(page.dataframe) == 2 + len(MODELS)
        assert_nothing_hostile_is_rendered(page)


def test_invalid_url_parameters_are_ignored(open_page: Any, shop_home: Path) -> None:
    page = open_page(shop_home, "attribution", period="<b>", by="x", model="y", channel="<img>")
    assert page.segmented_control(key="period").value == "24 hours"
    assert page.selectbox(key="model").value == "Last non-direct"


def test_csv_download_escapes_formulas_and_keeps_long_text(open_page: Any, tmp_path: Path) -> None:
    from widgets.layout import as_csv

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
