"""The live page in Chromium, where readers need a token."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kit.access import token_of, with_tokens
from kit.api_process import ApiProcess, api_process
from kit.live_shop import LiveShop
from kit.polling import eventually

pytestmark = pytest.mark.browser

TOKEN = token_of("shop")
NO_ONE_LOCAL = "roles: {}\n"
TEN_MINUTES = 10 * 60 * 1000


@pytest.fixture
def shop(tmp_path: Path) -> LiveShop:
    found = LiveShop(tmp_path)
    found.sell(3)
    with_tokens(tmp_path, NO_ONE_LOCAL, shop="admin")
    return found


@pytest.fixture
def server(shop: LiveShop) -> Iterator[ApiProcess]:
    with api_process(shop.home, place=shop.home) as server:
        yield server


def asks_for_a_token(page: Page, why: str) -> None:
    expect(page.locator("#notice")).to_have_text(why)
    expect(page.get_by_label("Token")).to_be_visible()


def give(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Show").click()


def is_known(server: ApiProcess, token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{server.url}/v1/tables", headers=headers).status_code == 200


def shows(page: Page, shop: LiveShop) -> None:
    for name, text in shop.shown.items():
        expect(page.locator(f"#{name}")).to_have_text(text)
    expect(page.locator("#state")).to_have_text("Live")
    expect(page.get_by_label("Token")).to_be_hidden()


def test_a_token_is_asked_for_and_sent_once(
    browser: BrowserContext, server: ApiProcess, shop: LiveShop
) -> None:
    page, sent = browser.new_page(), []
    page.on("request", lambda request: sent.append((request.url, request.headers.get("authorization"))))
    page.goto(f"{server.url}/live")
    asks_for_a_token(page, "These figures need a token.")
    give(page, "wrong")
    asks_for_a_token(page, "The token is not known, or has expired.")
    give(page, TOKEN)
    shows(page, shop)
    shop.sell(2)
    shows(page, shop)
    with_token = [url for url, authorization in sent if authorization == f"Bearer {TOKEN}"]
    assert with_token == [f"{server.url}/v1/session"]
    assert TOKEN not in "".join(url for url, _ in sent)
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert stored == '[{},{},""]', "a page can read neither the token nor the cookie"
    page.reload()
    shows(page, shop)
    assert TOKEN not in server.log


def test_the_cookie_is_renewed_while_the_page_is_open(
    browser: BrowserContext, server: ApiProcess, shop: LiveShop
) -> None:
    page = browser.new_page()
    page.clock.install()
    page.goto(f"{server.url}/live")
    give(page, TOKEN)
    shows(page, shop)
    (before,) = browser.cookies()
    with page.expect_response("**/v1/session") as renewed:
        page.clock.fast_forward(TEN_MINUTES)
    assert renewed.value.status == 204
    (after,) = browser.cookies()
    assert after["expires"] >= before["expires"]
    assert (after["httpOnly"], after["sameSite"]) == (True, "Strict")


def test_a_token_that_is_removed_ends_the_figures(
    browser: BrowserContext, server: ApiProcess, shop: LiveShop
) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}/live")
    give(page, TOKEN)
    shows(page, shop)
    with_tokens(shop.home, NO_ONE_LOCAL, other="admin")
    eventually(lambda: not is_known(server, TOKEN), what="the server has read it")
    shop.sell(1)  # else the page waits for a heartbeat
    asks_for_a_token(page, "These figures need a token.")
    expect(page.locator("#state")).to_have_text("Stale")
    give(page, token_of("other"))
    shows(page, shop)
