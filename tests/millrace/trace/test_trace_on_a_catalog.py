"""Rows of a catalog are traced to the same records as those of a folder."""

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from kit.catalog_server import CatalogServer
from kit.home import command
from kit.oracle_home import oracle_home
from kit.shop_warehouse import Shop
from kit.traced_figures import choose_figures, key_texts
from lakehouse.settings import Settings
from millrace.tables.table_scan import reading
from millrace.trace.records import Trace, trace

FIGURES = 9
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def settings(catalog: CatalogServer, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with a day of a sample shop, whose tables are those of the catalog too."""
    shop = Shop(datetime(2026, 3, 22, 14, 5, tzinfo=timezone.utc), days=1, events=300, seed=5)
    made = oracle_home(tmp_path_factory.mktemp("shop"), shop.stored)
    catalog.register(made.home)
    return made


@pytest.fixture
def on_catalog(
    settings: Settings, catalog: CatalogServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Settings]:
    """Settings with which the tables are read through Spark Connect."""
    for name, value in catalog.env.items():
        monkeypatch.setenv(name, value)
    found = settings.model_copy(update={"catalog": catalog.env["MILLRACE_CATALOG"]})
    with reading(found):
        yield found


def test_figures_have_the_records_that_they_have_in_the_folder(
    settings: Settings, on_catalog: Settings
) -> None:
    for name, row in choose_figures(settings, FIGURES, seed=1):
        key = key_texts(name, row)
        in_folder, in_catalog = trace(settings, name, key), trace(on_catalog, name, key)
        assert records(in_catalog) == records(in_folder) != []
        assert len(in_catalog.rows) == 1


def records(found: Trace) -> list[tuple[object, ...]]:
    """Coordinates, part, and bytes of each record."""
    return [
        (each.place, each.part, each.event_id, each.what, each.stored and bytes(each.stored["value"]))
        for each in found.records
    ]


def test_command_traces_a_row_of_the_catalog(
    settings: Settings, catalog: CatalogServer, tmp_path: Path
) -> None:
    ((name, row), *_) = choose_figures(settings, 1, seed=2)
    done = subprocess.run(
        command("trace", name, *key_texts(name, row), "--json"),
        env={**os.environ, **catalog.env, "MILLRACE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line)["offset"] for line in done.stdout.splitlines()]
    assert found == [each.place.offset for each in trace(settings, name, key_texts(name, row)).records]
