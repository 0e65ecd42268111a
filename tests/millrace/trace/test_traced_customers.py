"""Credit by columns of the shop's customers follows from its traced records, the shop's among them."""

import shutil
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kit.oracle import Oracle
from kit.oracle_dimensions import customer_values
from kit.oracle_home import oracle_home
from kit.pipeline import plain, shown
from kit.sample_changes import sample_changes
from kit.shop_warehouse import Shop, typed
from kit.traced_figures import key_texts, recomputed
from kit.warehouse_builder import append_rows
from lakehouse.bundle_file import BUNDLE_FILE, bundle_root
from lakehouse.contracts import TABLES
from lakehouse.contracts.daily import DIMENSION_PERFORMANCE
from millrace.trace.records import trace

NAME = DIMENSION_PERFORMANCE.name


def credit_by_plan(oracle: Oracle) -> list[dict[str, Any]]:
    values_of = partial(customer_values, oracle.shop_changes, {"plan": "plan"})
    return [row for row in oracle.windows.dimensions_by(values_of) if row["value"]]


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rules of a bundle with a dimension that is a column of the shop's customers."""
    root, folder = bundle_root(), tmp_path / "bundle"
    assert root is not None
    shutil.copytree(root / "conf", folder / "conf")
    shutil.copy(root / BUNDLE_FILE, folder / BUNDLE_FILE)
    (folder / "conf/dimensions.yml").write_text("dimensions: {plan: {from: customers.plan}}")
    monkeypatch.chdir(folder)
    return folder / "conf"


def test_credit_by_plan_follows_from_its_records(conf: Path, tmp_path: Path) -> None:
    until = datetime(2026, 3, 22, 14, 5, tzinfo=timezone.utc)
    shop = Shop(until, days=3, events=500, seed=5)
    stored = [*shop.stored, *sample_changes(shop.oracle.events, until, Random(5))]
    settings = oracle_home(tmp_path / "home", stored)
    rows = [typed(NAME, row) for row in credit_by_plan(Oracle.over(stored))]
    append_rows(tmp_path / "home", NAME, rows)
    chosen = Random(1).sample([row for row in rows if row["conversions"]], 3)
    for row in chosen:
        found = trace(settings, NAME, key_texts(NAME, row))
        again = [plain(each) for each in credit_by_plan(recomputed(found.records, settings))]
        same = [each for each in again if all(each[key] == row[key] for key in TABLES[NAME].key)]
        assert [{name: shown(value) for name, value in each.items()} for each in same] == [
            {name: shown(value) for name, value in plain(row).items()}
        ]
        assert any(each.what and "public.customers" in each.what for each in found.records)
