"""Unmodified Segment and RudderStack clients, each a process or a browser page that sends events."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Response, sync_playwright

from kit.browser import FLAGS, chromium
from kit.http_server import site
from kit.programs import required

FOLDER = Path(__file__).resolve().parents[1] / "clients"
PROGRAMS = {
    "segment-analytics-python": (sys.executable, "segment_python.py"),
    "rudder-sdk-python": (sys.executable, "rudder_python.py"),
    "@segment/analytics-node": ("node", "segment_node.mjs"),
    "@rudderstack/rudder-sdk-node": ("node", "rudder_node.mjs"),
}
BROWSER = "@segment/analytics-next"
CLIENTS = (*PROGRAMS, BROWSER)
_UMD = FOLDER / "node_modules" / "@segment" / "analytics-next" / "dist" / "umd" / "index.js"
_SECONDS = 1500
_RETRY_SECONDS = 120


def install_clients() -> None:
    """Install the locked Node packages."""
    wanted, installed = FOLDER / "package-lock.json", FOLDER / "node_modules" / ".package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
        subprocess.run(
            [required("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=FOLDER, check=True
        )


def journeys(client: str, events: int) -> Iterator[dict[str, Any]]:
    """Messages of visitors of a shop: a campaign, a promotion, a search, an order. Each has its `number`."""
    number = 0
    while True:
        visitor = f"{client}-{number}"
        campaign = {"name": f"c{number % 3}", "source": "news", "medium": "email"}
        for type_, event, properties in (
            ("page", None, {"url": f"https://shop.example/?utm_source=n{number % 5}&utm_medium=cpc"}),
            ("track", "Promotion Viewed", {"promotion_id": f"p{number % 4}"}),
            ("track", "Promotion Clicked", {"promotion_id": f"p{number % 4}"}),
            ("track", "Products Searched", {"query": "shoes", "products": [{"product_id": "1"}]}),
            ("track", "Product Clicked", {"product_id": "1"}),
            ("page", None, {"url": "https://shop.example/cart"}),
            ("track", "Order Completed", {"order_id": visitor, "total": 12.5, "currency": "EUR"}),
            ("identify", None, {}),
        ):
            if number == events:
                return
            body = {"type": type_, "anonymousId": visitor, "context": {"campaign": campaign}}
            if event:
                body["event"] = event
            if type_ == "identify":
                body |= {"userId": f"user-{visitor}", "traits": {"number": number}}
            else:
                body["properties"] = {**properties, "number": number}
            yield body
            number += 1


def _acknowledged_by(response: Response) -> set[str]:
    request = response.request
    if request.method != "POST" or response.status != 200:
        return set()
    return {request.post_data_json["messageId"]}


class SendingClient(threading.Thread):
    """A thread that sends events with one client, and ends.

    Args:
        name: one of `CLIENTS`.
        address: of the collector, as host:port.
        key: its write key.
        messages: the messages to send.
        rate: messages per second.
        folder: for its file and its log.

    Attributes:
        failure: why not all messages were delivered; None if all were.
    """

    def __init__(
        self, name: str, address: str, key: str, messages: list[dict[str, Any]], rate: float, folder: Path
    ) -> None:
        super().__init__(daemon=True)
        self._called = name
        self._address = address
        self._key = key
        self._messages = messages
        self._rate = rate
        self._folder = folder
        self.failure: str | None = "it has not ended"

    def run(self) -> None:
        """Send all messages."""
        try:
            if self._called == BROWSER:
                self._send_from_browser()
            else:
                self._run_program()
        except Exception as error:  # noqa: BLE001 - reported by the test
            self.failure = repr(error)

    def _run_program(self) -> None:
        file = self._folder / f"{self._called.replace('/', '-')}.jsonl"
        file.write_text("".join(json.dumps(message) + "\n" for message in self._messages))
        done = subprocess.run(
            [*PROGRAMS[self._called], f"http://{self._address}", self._key, str(file), str(self._rate)],
            cwd=FOLDER,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        self.failure = done.stderr[-2000:] or "it failed" if done.returncode else None

    def _send_from_browser(self) -> None:
        with site("<title>Shop</title>") as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
            try:
                page = browser.new_page()
                acknowledged: set[str] = set()
                page.on("response", lambda response: acknowledged.update(_acknowledged_by(response)))
                page.goto(url)
                page.add_script_tag(path=_UMD)
                page.add_script_tag(path=FOLDER / "browser.js")
                page.set_default_timeout(_SECONDS * 1000)
                page.evaluate(
                    "([host, key, messages, rate]) => window.replay(host, key, messages, rate)",
                    [self._address, self._key, self._messages, self._rate],
                )
                until = time.monotonic() + _RETRY_SECONDS  # it retries after its promises resolve
                while len(acknowledged) < len(self._messages) and time.monotonic() < until:
                    page.wait_for_timeout(200)
                missing = len(self._messages) - len(acknowledged)
                reasons = page.evaluate("window.failures.slice(0, 3)")
                self.failure = f"{missing} events are not acknowledged: {reasons}" if missing else None
            finally:
                browser.close()
