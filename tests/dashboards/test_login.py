"""Pages that require a login at an OpenID provider: an allowed account and a refused one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from oidc_provider_mock import run_server_in_thread
from playwright.sync_api import Page, expect

from kit.browsing import Browsing, browsing
from kit.running_dashboard import served
from millrace.local.process.ports import stable_port

pytestmark = pytest.mark.browser

_SECRETS = """
[auth]
redirect_uri = "{pages}oauth2callback"
cookie_secret = "only for this test"
client_id = "millrace"
client_secret = "of no use elsewhere"
server_metadata_url = "http://127.0.0.1:{provider}/.well-known/openid-configuration"
allow = ["@shop.example"]
trust_emails = true  # this provider does not say email_verified
"""


@pytest.fixture
def tab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browsing]:
    """A browser tab on pages that require a login."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")  # the provider has no certificate
    port = stable_port()
    with run_server_in_thread() as provider:
        file = tmp_path / "secrets.toml"
        reported = _SECRETS.format(pages=f"http://127.0.0.1:{port}/", provider=provider.server_port)
        file.write_text(reported, encoding="utf-8")
        serving = served(tmp_path, port=port, STREAMLIT_SECRETS_FILES=str(file))
        with serving as address, browsing(address) as tab:
            yield tab


def log_in(tab: Browsing, email: str) -> Page:
    page = tab.page
    page.goto(tab.address)
    expect(page.get_by_text("Log in to see the pages.")).to_be_visible()
    assert not page.get_by_text("Overview").count()
    page.get_by_role("button", name="Log in").click()
    page.get_by_placeholder("sub").fill(email)
    page.get_by_role("button", name="Authorize").click()
    return page


def test_only_allowed_account_sees_pages_after_login(tab: Browsing) -> None:
    page = log_in(tab, "eve@elsewhere.example")
    expect(page.get_by_text("This account is not among those that may see these pages.")).to_be_visible()
    assert not page.get_by_text("Overview").count()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("button", name="End session").click()
    page = log_in(tab, "ada@shop.example")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_text("ada@shop.example")).to_be_visible()
