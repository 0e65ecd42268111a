"""Figures chosen at random follow from their traced records alone; other records are not needed."""

from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random

import polars as pl
import pytest

from kit.oracle_home import oracle_home
from kit.records import NOON, Stored
from kit.sample_changes import sample_changes
from kit.scenarios import rate_records, story_events
from kit.shop_warehouse import Shop
from kit.traced_figures import (
    CREDITS,
    STEPS,
    WINDOWS,
    assert_figure_follows_from_records,
    choose_figures,
    key_texts,
)
from lakehouse.contracts import TABLES
from lakehouse.errors import MillraceError
from lakehouse.settings import Settings
from millrace.trace.records import trace
from millrace.trace.render import as_lines

FIGURES = [30, pytest.param(100, marks=pytest.mark.long)]


@pytest.fixture(scope="module")
def shop_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with three days of a sample shop and its database."""
    until = datetime(2026, 3, 22, 14, 5, tzinfo=timezone.utc)
    shop = Shop(until, days=3, events=500, seed=5)
    changes = sample_changes(shop.oracle.events, until, Random(5))
    return oracle_home(tmp_path_factory.mktemp("shop"), [*shop.stored, *changes])


@pytest.mark.parametrize("count", FIGURES)
def test_figures_of_a_shop_follow_from_their_records(shop_settings: Settings, count: int) -> None:
    figures = choose_figures(shop_settings, count, seed=1)
    assert len(figures) == count
    assert {name for name, _ in figures} == {CREDITS, WINDOWS, STEPS}
    records = [assert_figure_follows_from_records(shop_settings, *figure) for figure in figures]
    assert sorted(records)[count // 2] < 500 / 3  # most figures have few records


TRACEABLE = [
    name
    for name, table in TABLES.items()
    if table.layer in ("silver", "gold")
    and name
    not in (
        "gold.visitor_minutes",
        "gold.channel_credit",
        "gold.sketches",
        "gold.visitor_timeline",
        "gold.bot_refunds",
    )
]


@pytest.mark.parametrize("name", TRACEABLE)
def test_rows_of_every_table_follow_from_their_records(shop_settings: Settings, name: str) -> None:
    rows = pl.read_delta(str(shop_settings.warehouse.joinpath(*name.split(".")))).to_dicts()
    # that there is a shop's database follows from other orders
    rows = [row for row in rows if row.get("difference") != "not in the shop"]
    rows.sort(key=lambda row: key_texts(name, row))
    with_credit = [row for row in rows if row.get("credited_reporting_value")]
    for row in (*Random(1).sample(rows, min(len(rows), 2)), *with_credit[:2]):
        assert_figure_follows_from_records(shop_settings, name, row)


@pytest.mark.parametrize(
    ("name", "key", "problem"),
    [
        ("bronze.kafka_records", ["events", "0", "1"], "there is no table"),
        ("gold.visitor_minutes", ["v"], "no records of their own"),
        ("gold.conversions", ["none such"], "no row"),
        ("gold.conversions", ["a", "b"], "2 values"),
        ("gold.funnel", ["yesterday"], "is a date"),
    ],
)
def test_row_that_cannot_be_traced_is_an_error(
    shop_settings: Settings, name: str, key: list[str], problem: str
) -> None:
    with pytest.raises(MillraceError, match=problem):
        trace(shop_settings, name, key)


def test_text_of_a_trace_names_rows_parts_and_coordinates(shop_settings: Settings) -> None:
    name = pl.read_delta(str(shop_settings.warehouse / "gold" / "conversions"))["conversion_id"][0]
    found = trace(shop_settings, "gold.conversions", [name[:12]])
    lines = list(as_lines(found, {found.records[0].place: "same in Kafka"}, 1))
    assert lines[0] == f"gold.conversions: 1 row, from {len(found.records)} records"
    assert lines[1] == f"  conversion_id {name}"
    place = found.records[0].place
    assert lines[3].startswith(f"  {place.topic}/{place.partition}/{place.offset}  2026-")
    assert "same in Kafka" in lines[3]
    assert any("more; --all shows them" in line for line in lines)


@pytest.mark.long
def test_figures_of_odd_stories_follow_from_their_records(tmp_path: Path) -> None:
    sent = [*rate_records(), *story_events(25)]
    stamps = [NOON + timedelta(days=90, seconds=each.commit) for each in sent]
    stored = [Stored(each.record, number, stamps[number]) for number, each in enumerate(sent)]
    settings = oracle_home(tmp_path, stored)
    figures = choose_figures(settings, 100, seed=2)
    assert len(figures) == 100
    for figure in figures:
        assert_figure_follows_from_records(settings, *figure)
