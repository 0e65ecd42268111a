"""The live page in Chromium when reading requires an access token."""

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
NO_LOCAL_ACCESS = "roles: {}\n"
TEN_MINUTES = 10 * 60 * 1000


@pytest.fixture
def shop(tmp_path: Path) -> LiveShop:
    found = LiveShop(tmp_path)
    found.sell(3)
    with_tokens(tmp_path, NO_LOCAL_ACCESS, shop="admin")
    return found


@pytest.fixture
def server(shop: LiveShop) -> Iterator[ApiProcess]:
    with api_process(shop.home, place=shop.home) as server:
        yield server


def expect_token_prompt(page: Page, expected_notice: str) -> None:
    expect(page.locator("#notice")).to_have_text(expected_notice)
    expect(page.get_by_label("Token")).to_be_visible()


def submit_token(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Show").click()


def is_token_accepted(server: ApiProcess, token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{server.url}/v1/tables", headers=headers).status_code == 200


def expect_live_figures(page: Page, shop: LiveShop) -> None:
    for name, text in shop.shown.items():
        expect(page.locator(f"#{name}")).to_have_text(text)
    expect(page.locator("#state")).to_have_text("Live")
    expect(page.get_by_label("Token")).to_be_hidden()


def test_page_prompts_for_token_and_sends_it_only_once(
    browser: BrowserContext, server: ApiProcess, shop: LiveShop
) -> None:
    page, sent = browser.new_page(), []
    page.on("request", lambda request: sent.append((request.url, request.headers.get("authorization"))))
    page.goto(f"{server.url}/live")
    expect_token_prompt(page, "These figures need a token.")
    submit_token(page, "wrong")
    expect_token_prompt(page, "The token is not known, or has expired.")
    submit_token(page, TOKEN)
    expect_live_figures(page, shop)
    shop.sell(2)
    expect_live_figures(page, shop)
    with_token = [url for url, authorization in sent if authorization == f"Bearer {TOKEN}"]
    assert with_token == [f"{server.url}/v1/session"]
    assert TOKEN not in "".join(url for url, _ in sent)
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert stored == '[{},{},""]', "a page can read neither the token nor the cookie"
    page.reload()
    expect_live_figures(page, shop)
    assert TOKEN not in server.log


def test_session_cookie_is_renewed_while_page_is_open(
    browser: BrowserContext, server: ApiProcess, shop: LiveShop
) -> None:
    page = browser.new_page()
    page.clock.install()
    page.goto(f"{server.url}/live")
    submit_token(page, TOKEN)
    expect_live_figures(page, shop)
    (before,) = browser.cookies()
    with page.expect_response("**/v1/session") as renewed:
        page.clock.fast_forward(TEN_MINUTES)
    assert renewed.value.status == 204
    (after,) = browser.cookies()
    assert after["expires"] >= before["expires"]
    assert (after["httpOnly"], after["sameSite"]) == (True, "Strict")


def test_page_turns_stale_and_prompts_again_when_token_is_removed(
    browser: BrowserContext, server: ApiProcess, shop: LiveShop
) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}/live")
    submit_token(page, TOKEN)
    expect_live_figures(page, shop)
    with_tokens(shop.home, NO_LOCAL_ACCESS, other="admin")
    eventually(lambda: not is_token_accepted(server, TOKEN), what="the server has read it")
    shop.sell(1)  # otherwise the page waits for a heartbeat
    expect_token_prompt(page, "These figures need a token.")
    expect(page.locator("#state")).to_have_text("Stale")
    submit_token(page, token_of("other"))
    expect_live_figures(page, shop)
