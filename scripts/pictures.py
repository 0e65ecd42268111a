"""Take the pictures of `docs/tour.md`: every page, light and dark, over a made-up shop's tables.

Run by `make pictures`. What they were taken of is written beside them: a test tells when they are old.
"""

import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

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
_QUERIES = {"overview": "?period=24+hours", "pipeline": "?over=Week"}
_ASKED = "?period=All"


def main() -> None:
    """Build the tables, start the pages, take the pictures."""
    wanted = sys.argv[1:] or list(VIEWS)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shop = Shop(_last_evening(), days=12, events=48_000)
        build_warehouse(home, shop.tables)
        orders = [row for row in shop.tables["gold.conversions"] if row["goal"] == "Order Completed"]
        told = max(orders, key=lambda row: (row["touches"], row["conversion_id"]))["conversion_id"]
        _QUERIES["conversion"] = f"?conversion={told}"
        with served(home) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            for name in wanted:
                append_rows(home, "ops.ledger", _batches(shop))  # so that the figures are fresh
                for theme in ("light", "dark"):
                    _take(
                        browser,
                        f"{address}{'' if name == 'overview' else name}{_QUERIES.get(name, _ASKED)}",
                        theme,
                        PICTURES / f"{name}-{theme}.png",
                    )
            browser.close()
    PICTURED.write_text(digest_of_pages() + "\n", encoding="utf-8")


def _last_evening() -> datetime:
    """The shop's busiest hour."""
    now = datetime.now(timezone.utc)
    return now.replace(hour=19, minute=40) - timedelta(days=now.hour < _EVENING)


def _batches(shop: Shop) -> list[dict[str, object]]:
    """A micro-batch of each job just now."""
    now = datetime.now(timezone.utc)
    return [{**row, "started_at": now, "position": now} for row in shop.tables["ops.ledger"][-4:]]


def _take(browser: Browser, address: str, theme: str, file: Path) -> None:
    context = browser.new_context(
        color_scheme="dark" if theme == "dark" else "light",
        viewport={"width": _WIDTH, "height": 1000},
        locale="en-GB",
    )
    page = context.new_page()
    page.goto(address)
    page.get_by_text("All times are UTC.").wait_for(timeout=60_000)
    page.wait_for_timeout(2500)
    height = page.evaluate("document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight")
    page.set_viewport_size({"width": _WIDTH, "height": int(height) + 20})
    page.wait_for_timeout(2500)
    page.screenshot(path=str(file))
    context.close()
    print(file.relative_to(ROOT), height)  # noqa: T201


if __name__ == "__main__":
    main()
