"""Figures chosen at random follow from their traced records alone; other records are not needed."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from kit.oracle_home import oracle_home
from kit.records import NOON, Stored
from kit.scenarios import rate_records, story_events
from kit.shop_warehouse import Shop
from kit.traced_figures import CREDITS, STEPS, WINDOWS, assert_figure_follows_from_records, choose_figures
from lakehouse.settings import Settings

FIGURES = 100


@pytest.fixture(scope="module")
def shop_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with three days of a sample shop."""
    shop = Shop(datetime(2026, 3, 22, 14, 5, tzinfo=timezone.utc), days=3, events=500, seed=5)
    return oracle_home(tmp_path_factory.mktemp("shop"), shop.stored)


def test_figures_of_a_shop_follow_from_their_records(shop_settings: Settings) -> None:
    figures = choose_figures(shop_settings, FIGURES, seed=1)
    assert len(figures) == FIGURES
    assert {name for name, _ in figures} == {CREDITS, WINDOWS, STEPS}
    records = [assert_figure_follows_from_records(shop_settings, *figure) for figure in figures]
    assert sorted(records)[FIGURES // 2] < 500 / 3  # most figures have few records


@pytest.mark.long
def test_figures_of_odd_stories_follow_from_their_records(tmp_path: Path) -> None:
    sent = [*rate_records(), *story_events(25)]
    stamps = [NOON + timedelta(days=90, seconds=each.commit) for each in sent]
    stored = [Stored(each.record, number, stamps[number]) for number, each in enumerate(sent)]
    settings = oracle_home(tmp_path, stored)
    figures = choose_figures(settings, FIGURES, seed=2)
    assert len(figures) == FIGURES
    for figure in figures:
        assert_figure_follows_from_records(settings, *figure)
