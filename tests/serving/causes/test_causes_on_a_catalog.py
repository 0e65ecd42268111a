"""Causes of changes are the same whether tables are read in a folder or in a catalog."""

from pathlib import Path

import pytest

from kit.catalog_server import CatalogServer
from kit.caused_changes import changes_with_causes
from kit.consent_stories import stating
from kit.delta_writer import STORED_CHANGES
from kit.live_table import LiveTable
from kit.records import NOON, rate
from kit.scenarios import in_time, rate_records, rush_events, search_events, story_events
from kit.simulated_jobs import SimulatedJobs
from kit.watching import Watch
from lakehouse.settings import load_settings
from serving.causes.causes import Causes

pytestmark = pytest.mark.long
CHECKED_TABLES = ("silver.sessions", "gold.touches", "gold.conversions", "gold.traffic")


@pytest.fixture(scope="module")
def jobs(catalog: CatalogServer, tmp_path_factory: pytest.TempPathFactory) -> SimulatedJobs:
    """Scenarios in four commits, whose tables are those of the catalog too."""
    home = tmp_path_factory.mktemp("home")
    events = stating(story_events(10), seed=3) + rate_records() + rush_events() + search_events(2)
    made = SimulatedJobs(home, [*in_time(events, 4), [rate("USD", 2, NOON)]])
    catalog.register(home)
    return made


@pytest.mark.parametrize("name", CHECKED_TABLES)
def test_causes_are_those_found_in_the_folder(
    jobs: SimulatedJobs, catalog: CatalogServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in catalog.env.items():
        monkeypatch.setenv(variable, value)
    settings = load_settings(home=jobs.warehouse.parent)
    assert settings.catalog
    in_folder = Causes(settings.model_copy(update={"catalog": None}))
    expected = changes_with_causes(jobs.warehouse, name, in_folder)
    assert len(expected) > 3
    assert changes_with_causes(jobs.warehouse, name, Causes(settings)) == expected


def test_watch_names_the_job_of_a_change_without_input(catalog: CatalogServer, tmp_path: Path) -> None:
    table = LiveTable(tmp_path, rows=3, properties=STORED_CHANGES)
    catalog.register(tmp_path)
    with Watch(
        tmp_path, tmp_path / "lines", "gold.touches", "--changes", "--caused-by", "--from", "0", **catalog.env
    ) as running:
        lines = running.reaches({"gold.touches": table.version})
    assert [line["caused_by"] for line in lines if "after" in line] == [{"job": None}] * 3
