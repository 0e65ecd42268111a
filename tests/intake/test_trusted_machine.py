"""With `--trust-local`, programs and pages of this machine write events, and pages of other sites do not."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.collector_app import CollectorApp, collector_app

EVENT = b'{"type": "track", "event": "A", "userId": "u"}'
PIXEL = base64.urlsafe_b64encode(EVENT).decode()


@pytest.fixture
def collecting(tmp_path: Path) -> Iterator[CollectorApp]:
    with collector_app(tmp_path) as app:
        yield app


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_image_or_link_of_another_site_writes_no_event(collecting: CollectorApp, site: str) -> None:
    for mode in ("no-cors", "navigate"):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
        answer = collecting.client.get("/v1/pixel/track", params={"data": PIXEL}, headers=headers)
        assert answer.status_code == 401
    assert collecting.events() == []


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://["]
)
def test_request_of_another_origin_writes_no_event(collecting: CollectorApp, origin: str) -> None:
    for more in ({}, {"Sec-Fetch-Site": "same-origin"}):
        headers = {"Origin": origin, **more}
        assert collecting.client.post("/v1/track", content=EVENT, headers=headers).status_code == 401
    assert collecting.events() == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:3000"},
    ],
)
def test_program_or_page_of_the_machine_writes_events(
    collecting: CollectorApp, headers: dict[str, str]
) -> None:
    assert collecting.client.post("/v1/track", content=EVENT, headers=headers).status_code == 200
    answer = collecting.client.get("/v1/pixel/track", params={"data": PIXEL}, headers=headers)
    assert answer.status_code == 200
    assert len(collecting.events()) == 2
