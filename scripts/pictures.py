"""Takes the screenshots of `docs/tour.md`: every page, light and dark, with the tables of a fictional shop.

Run by `make pictures`. A digest of the pages is stored with them, so that a test detects old screenshots.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "dashboards")]

from kit.browser import FLAGS, chromium  # noqa: E402
from kit.dashboards_folder import PICTURED, PICTURES, VIEWS, digest_of_pages  # noqa: E402
from kit.serving import served  # noqa: E402
from kit.shop_warehouse import Shop  # noqa: E402
from kit.warehouse_builder import append_rows, build_warehouse  # noqa: E402

_WIDTH = 1440  # pixels
_EVENING = 20  # o'clock, UTC
_QUERIES = {"overview": "?period=24+hours", "pipeline": "?over=Week", "conversion": "?conversion={longest}"}
_ASKED = "?period=All"
_SETTLE = 1100  # milliseconds until a page is drawn


def main() -> None:
    """Build the tables, start the dashboard, take the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", default=VIEWS, help="all of them, if none is named")
    parser.add_argument("--home", type=Path, help="keep the tables here, and use them if they are there")
    arguments = parser.parse_args()
    try:
        browser_path = chromium()
    except pytest.skip.Exception as missing:
        parser.exit(1, f"pictures: {missing}\n")
    with tempfile.TemporaryDirectory() as folder:
        home = arguments.home or Path(folder)
        shop = Shop(_last_evening(), days=7, events=22_000)
        if not (home / "warehouse").exists():
            home.mkdir(exist_ok=True)
            build_warehouse(home, shop.tables)
        with served(home) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
            for theme in ("light", "dark"):
                _take_all(browser, home, address, theme, arguments.pages)
            browser.close()
    if set(arguments.pages) == set(VIEWS):
        PICTURED.write_text(digest_of_pages() + "\n", encoding="utf-8")


def _take_all(browser: Browser, home: Path, address: str, theme: str, views: Sequence[str]) -> None:
    dark: Literal["dark", "light"] = "dark" if theme == "dark" else "light"
    context = browser.new_context(
        color_scheme=dark, viewport={"width": _WIDTH, "height": 1000}, locale="en-GB"
    )
    page = context.new_page()
    for view in views:
        _append_a_batch(home)
        query = _QUERIES.get(view, _ASKED).format(longest=_longest_journey(home))
        page.set_viewport_size({"width": _WIDTH, "height": 1000})
        page.goto(f"{address}{'' if view == 'overview' else view}{query}")
        page.get_by_text("All times are UTC.").wait_for(timeout=60_000)
        page.wait_for_timeout(_SETTLE)
        height = page.evaluate("document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight")
        page.set_viewport_size({"width": _WIDTH, "height": int(height) + 10})
        page.wait_for_timeout(_SETTLE)
        page.screenshot(path=str(PICTURES / f"{view}-{theme}.png"))
        print(f"{view}-{theme}.png", height, flush=True)  # noqa: T201
    context.close()


def _longest_journey(home: Path) -> str:
    """The order with the most kinds of trail steps; of these, the one with the most touches."""
    orders = pl.scan_delta(str(home / "warehouse/gold/conversions")).filter(goal="Order Completed")
    trails = pl.scan_delta(str(home / "warehouse/gold/trails"))
    kinds = trails.group_by("conversion_id").agg(kinds=pl.col("kind").n_unique())
    by = ("kinds", "touches", "conversion_id")
    found = orders.join(kinds, on="conversion_id").sort(*by, descending=True).head(1).collect()
    return str(found["conversion_id"][0])


def _append_a_batch(home: Path) -> None:
    """Add a current micro-batch of each job, so that the page shows fresh figures."""
    now = datetime.now(timezone.utc)
    ledger = pl.scan_delta(str(home / "warehouse/ops/ledger")).sort("batch_id", "started_at").tail(4)
    rows = ledger.with_columns(pl.lit(now).alias("started_at"), pl.lit(now).alias("position"))
    append_rows(home, "ops.ledger", rows.collect().to_dicts())


def _last_evening() -> datetime:
    """The last busy evening hour of the shop."""
    now = datetime.now(timezone.utc)
    return now.replace(hour=19, minute=40) - timedelta(days=now.hour < _EVENING)


if __name__ == "__main__":
    main()
