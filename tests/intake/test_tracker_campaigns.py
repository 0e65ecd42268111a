"""The tracker reads campaigns as Millrace reads them from an address, in a real browser; no collector."""

import json
from datetime import datetime, timezone

import pytest
from playwright.sync_api import BrowserContext

from kit.parser import parse
from kit.records import Record
from kit.tracked_site import tracked_site

pytestmark = pytest.mark.browser

FIELDS = ("source", "medium", "name", "term", "content", "id")


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
    with tracked_site('data-consent="granted"') as (site, messages):
        browser.new_page().goto(site + landing)
        message = messages.get(timeout=30)
    sent = message["context"].pop("campaign", {})
    assert sent == wanted
    (row,) = parse([Record(json.dumps(message).encode(), timestamp=datetime.now(timezone.utc))])
    assert {name: row[f"campaign_{name}"] for name in FIELDS if row[f"campaign_{name}"]} == wanted
    assert (row["click_id"] is not None) == ("gclid" in landing)
    assert not message["context"]["page"]["url"].endswith("#top")
