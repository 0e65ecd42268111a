"""The tracker reads campaigns as Millrace reads them from an address, in a real browser; no collector."""

import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

import intake.browser
from kit.http_server import Request, serving
from kit.parser import parse
from kit.records import Record

pytestmark = pytest.mark.browser

PAGE = b"""<!doctype html><title>Home</title>
<script src="/millrace.js" data-write-key="key" data-consent="granted" defer></script>"""
TRACKER = Path(intake.browser.__file__).with_name("millrace.js").read_bytes()
FIELDS = ("source", "medium", "name", "term", "content", "id")


@contextmanager
def tracked_site() -> Iterator[tuple[str, "queue.Queue[dict[str, Any]]"]]:
    """A site with the tracker. Yields its URL, and the messages that come."""
    messages: queue.Queue[dict[str, Any]] = queue.Queue()

    def respond(request: Request) -> None:
        if request.command == "POST":
            for message in json.loads(request.body())["batch"]:
                messages.put(message)
            request.answer(200, b"{}", "application/json")
        elif request.path == "/millrace.js":
            request.answer(200, TRACKER, "text/javascript")
        else:
            request.answer(200, PAGE, "text/html")

    with serving(respond) as port:
        yield f"http://localhost:{port}/", messages


@pytest.mark.parametrize(
    ("landing", "campaign"),
    [
        ("?utm_source=News&utm_medium=E-Mail", {"source": "News", "medium": "E-Mail"}),
        ("?UTM_SOURCE=news&Utm_Medium=email", {"source": "news", "medium": "email"}),
        ("?utm_source=&utm_source=news&utm_medium=%20", {"source": "news"}),
        ("?utm_source=news&amp;utm_medium=email", {"source": "news", "medium": "email"}),
        ("?utm_campaign=caf%E9+x&utm_term=50%+off&utm_id=caf%C3%A9", ("caf%E9+x", "50% off", "caf\u00e9")),
        ("?x=1;utm_source=news", {}),
        ("#utm_source=news&utm_medium=email", {"source": "news", "medium": "email"}),
        ("#/path?utm_source=news&gclid=1", {"source": "news"}),
        ("?utm_source=news#utm_source=a&utm_content=b", {"source": "news", "content": "b"}),
        ("#top", {}),
    ],
)
def test_campaign_of_tracker_is_that_of_its_address(
    browser: BrowserContext, landing: str, campaign: dict[str, str] | tuple[str, ...]
) -> None:
    wanted = (
        campaign if isinstance(campaign, dict) else dict(zip(("name", "term", "id"), campaign, strict=True))
    )
    with tracked_site() as (site, messages):
        browser.new_page().goto(site + landing)
        message = messages.get(timeout=30)
    sent = message["context"].pop("campaign", {})
    assert sent == wanted
    (row,) = parse([Record(json.dumps(message).encode(), timestamp=datetime.now(timezone.utc))])
    assert {name: row[f"campaign_{name}"] for name in FIELDS if row[f"campaign_{name}"]} == wanted
    assert (row["click_id"] is not None) == ("gclid" in landing)
    assert not message["context"]["page"]["url"].endswith("#top")
