"""Takes the screenshots of the docs from a real `millrace demo`: every page, light and dark.

Run by `make pictures`; takes eleven minutes. Pages of minute 10 are those of docs/tour.md; those of minute 2,
of minute 10 and of an empty home are put together on one sheet each for docs/pages.md. A digest of the pages
is stored with them, so that a test detects old screenshots.
"""

import argparse
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "dashboards")]

from kit.browser import FLAGS, chromium  # noqa: E402
from kit.dashboards_folder import PICTURED, PICTURES, THEMES, VIEWS, digest_of_pages  # noqa: E402
from kit.polling import eventually  # noqa: E402
from kit.running_dashboard import answers, served  # noqa: E402
from millrace.local.process.ports import stable_port  # noqa: E402

_WIDTH = 1440  # pixels
_DONE = "[data-testid=stApp][data-test-script-state=notRunning]"
_SETTLE = 1100  # milliseconds until a page is drawn
_ONE, _COLUMNS, _GAP = 640, 3, 16  # pixels of a page on a sheet, pages in a row, pixels between them
_FIRST, _LAST = 2, 10  # minutes after the start of the demo


def main() -> None:
    """Serve an empty home, then run the demo, and take the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="take all of them once there are figures")
    arguments = parser.parse_args()
    try:
        browser_path = chromium()
    except pytest.skip.Exception as missing:
        parser.exit(1, f"pictures: {missing}\n")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        empty, home = Path(folder) / "empty", Path(folder) / "demo"
        empty.mkdir()
        home.mkdir()
        with served(empty) as address:
            _take_sheets(browser, address, "empty", {})
        started = time.monotonic()
        with _demo(home) as address:
            _wait_until(started, 0 if arguments.quick else _FIRST)
            eventually(lambda: _has_conversions(home), 300, "the demo has conversions")
            asked = {"conversion": f"?conversion={_longest_journey(home)}"}
            _take_sheets(browser, address, f"minute-{_FIRST}", asked)
            for job in ("attribution-model", "quality"):
                _millrace(home, "run", job, "--once")
            _wait_until(started, 0 if arguments.quick else _LAST)
            for theme, pages in _take_sheets(browser, address, f"minute-{_LAST}", asked).items():
                for view, picture in pages.items():
                    (PICTURES / f"{view}-{theme}.png").write_bytes(picture)
        browser.close()
    PICTURED.write_text(digest_of_pages() + "\n", encoding="utf-8")


@contextmanager
def _demo(home: Path) -> Iterator[str]:
    """Run `millrace demo` until the block ends. Yields the URL of the dashboard."""
    process = subprocess.Popen(
        [sys.executable, "-m", "millrace", "demo"],
        cwd=ROOT,
        env=_environment(home),
        stdout=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{_PORTS['MILLRACE_DASHBOARD_PORT']}/"
    try:
        eventually(lambda: answers(f"{address}_stcore/health"), 60, "the demo's dashboard is up")
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


_PORTS = {name: str(stable_port()) for name in ("MILLRACE_DASHBOARD_PORT", "MILLRACE_BROKER_PORT")}


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, **_PORTS, "MILLRACE_HOME": str(home)}


def _millrace(home: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "millrace", *arguments], cwd=ROOT, env=_environment(home), check=True
    )


def _wait_until(started: float, minutes: float) -> None:
    time.sleep(max(started + 60 * minutes - time.monotonic(), 0))


def _has_conversions(home: Path) -> bool:
    table = home / "warehouse/gold/traffic"
    has_commit = any((table / "_delta_log").glob("*.json"))  # the folder is there before the first one
    return has_commit and pl.scan_delta(str(table)).head(1).collect().height > 0


def _take_sheets(
    browser: Browser, address: str, name: str, asked: Mapping[str, str]
) -> dict[str, dict[str, bytes]]:
    """Take all pages, and combine those of a theme on a sheet. Returns the pictures by theme and view."""
    taken = {}
    for theme in THEMES:
        taken[theme] = _take_all(browser, address, theme, asked)
        _sheet(list(taken[theme].values()), theme).save(PICTURES / f"{name}-{theme}.png", optimize=True)
        print(f"{name}-{theme}.png", flush=True)  # noqa: T201
    return taken


def _take_all(browser: Browser, address: str, theme: str, asked: Mapping[str, str]) -> dict[str, bytes]:
    dark: Literal["dark", "light"] = "dark" if theme == "dark" else "light"
    context = browser.new_context(
        color_scheme=dark, viewport={"width": _WIDTH, "height": 1000}, locale="en-GB"
    )
    page, taken = context.new_page(), {}
    for view in VIEWS:
        page.set_viewport_size({"width": _WIDTH, "height": 1000})
        page.goto(f"{address}{'' if view == 'overview' else view}{asked.get(view, '')}")
        page.get_by_test_id("stMainBlockContainer").get_by_role("heading").first.wait_for(timeout=60_000)
        page.wait_for_timeout(_SETTLE)
        page.wait_for_selector(_DONE, timeout=60_000)
        page.wait_for_timeout(_SETTLE)
        height = page.evaluate("document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight")
        page.set_viewport_size({"width": _WIDTH, "height": int(height) + 10})
        page.wait_for_selector(_DONE, timeout=60_000)
        page.wait_for_timeout(_SETTLE)
        taken[view] = page.screenshot()
    context.close()
    return taken


def _sheet(pictures: list[bytes], theme: str) -> Image.Image:
    """The pictures in rows of three, each page in the same width."""
    pages = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in pictures]
    small = [page.resize((_ONE, round(page.height * _ONE / page.width))) for page in pages]
    rows = [small[at : at + _COLUMNS] for at in range(0, len(small), _COLUMNS)]
    heights = [max(page.height for page in row) for row in rows]
    size = (_COLUMNS * (_ONE + _GAP) + _GAP, sum(heights) + _GAP * (len(rows) + 1))
    sheet = Image.new("RGB", size, "#3a3a3a" if theme == "dark" else "#d9d9d9")
    top = _GAP
    for row, height in zip(rows, heights, strict=True):
        for place, page in enumerate(row):
            sheet.paste(page, (_GAP + place * (_ONE + _GAP), top))
        top += height + _GAP
    return sheet.quantize(256)


def _longest_journey(home: Path) -> str:
    """The order with the most kinds of trail steps; of these, the one with the most touches."""
    orders = pl.scan_delta(str(home / "warehouse/gold/conversions")).filter(goal="Order Completed")
    trails = pl.scan_delta(str(home / "warehouse/gold/trails"))
    kinds = trails.group_by("conversion_id").agg(kinds=pl.col("kind").n_unique())
    by = ("kinds", "touches", "conversion_id")
    found = orders.join(kinds, on="conversion_id").sort(*by, descending=True).head(1).collect()
    return str(found["conversion_id"][0])


if __name__ == "__main__":
    main()
