"""Puts the dashboards folder on the path like `streamlit run`; fixtures with the tables of a sample shop."""

import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config
from streamlit.testing.v1 import AppTest

from kit.asking import Sql, sql_over
from kit.dashboards_folder import DASHBOARDS
from kit.shop_warehouse import Shop

sys.path.insert(0, str(DASHBOARDS))

Open = Callable[..., AppTest]


@pytest.fixture(scope="session")
def shop() -> Shop:
    """Four days of a sample shop, in the past."""
    return Shop(datetime(2026, 3, 22, 14, 5, tzinfo=timezone.utc), days=4, events=5000, seed=11)


@pytest.fixture(scope="session")
def shop_home(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A read-only home with the shop's tables."""
    home = tmp_path_factory.mktemp("shop")
    shop.build(home)
    return home


@pytest.fixture(scope="session")
def sql(shop_home: Path) -> Sql:
    """Queries the shop's tables with SQL."""
    return sql_over(shop_home)


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens a page over a home, served on loopback; the page must not raise."""
    monkeypatch.delenv("MILLRACE_DATA_DOCS", raising=False)
    before = config.get_option("server.address")
    config.set_option("server.address", "127.0.0.1")

    def open_view(home: Path, view: str, **query: str) -> AppTest:
        monkeypatch.setenv("MILLRACE_HOME", str(home))
        st.cache_resource.clear()
        page = AppTest.from_file(str(DASHBOARDS / "app.py"), default_timeout=60)
        page.query_params.update(query)
        page.switch_page(f"views/{view}.py").run()
        assert not page.exception, [each.message for each in page.exception]
        return page

    yield open_view
    config.set_option("server.address", before)
