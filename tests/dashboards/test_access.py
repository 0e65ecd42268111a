from typing import Any

import pytest
from access import CONFIRMATION, ON_DATABRICKS, is_loopback, may_see, refusal_to_serve
from streamlit import config

from kit.dashboards_folder import DASHBOARDS

LOGIN = {"redirect_uri": "http://x.invalid/oauth2callback"}


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_address_is_served_without_login(address: str) -> None:
    assert is_loopback(address)
    assert refusal_to_serve(address, {}, {}) == ""


@pytest.mark.parametrize("address", [None, "", "0.0.0.0", "::", "192.168.7.7", "shop.example"])
def test_public_address_requires_login_confirmation_or_databricks(address: str | None) -> None:
    reported = refusal_to_serve(address, {}, {})
    assert "nobody has to log in" in reported
    assert CONFIRMATION in reported
    assert refusal_to_serve(address, {}, {CONFIRMATION: "no"}) == reported
    assert refusal_to_serve(address, LOGIN, {}) == ""
    assert refusal_to_serve(address, {}, {CONFIRMATION: "yes"}) == ""
    assert refusal_to_serve(address, {}, {ON_DATABRICKS: "millrace"}) == ""


@pytest.mark.parametrize(
    ("allow", "email", "expected"),
    [
        ([], "a@b.example", True),
        (["a@b.example"], "A@B.example", True),
        (["@b.example"], "a@b.example", True),
        (["@b.example"], "a@evilb.example", False),
        (["@b.example"], "", False),
        (["c@b.example"], "a@b.example", False),
    ],
)
def test_allow_list_restricts_viewers_by_verified_email(allow: list[str], email: str, expected: bool) -> None:
    assert may_see({"email": email, "email_verified": True}, {"allow": allow}) is expected
    assert may_see({"email": email}, {"allow": allow, "trust_emails": True}) is expected
    for unverified in ({"email": email}, {"email": email, "email_verified": False}):
        assert may_see(unverified, {"allow": allow or ["@x"]}) is False
    assert may_see(unverified, {"allow": allow or ["@x"], "trust_emails": True}) is False


def test_server_binds_to_loopback_by_default() -> None:
    text = (DASHBOARDS / ".streamlit" / "config.toml").read_text(encoding="utf-8")
    assert 'address = "127.0.0.1"' in text


def test_public_address_without_login_shows_no_figures(open_page: Any, shop_home: Any) -> None:
    open_page(shop_home, "overview")
    from streamlit.testing.v1 import AppTest

    config.set_option("server.address", "0.0.0.0")
    page = AppTest.from_file(str(DASHBOARDS / "app.py"), default_timeout=30).run()
    assert not page.exception
    assert "nobody has to log in" in page.text[0].value
    assert not page.metric
    assert not page.dataframe


def test_viewer_without_login_sees_only_login_button(open_page: Any, shop_home: Any) -> None:
    open_page(shop_home, "overview")
    from streamlit.testing.v1 import AppTest

    config.set_option("server.address", "0.0.0.0")
    page = AppTest.from_file(str(DASHBOARDS / "app.py"), default_timeout=30)
    page.secrets["auth"] = LOGIN
    page.run()
    assert not page.exception
    assert [button.label for button in page.button] == ["Log in"]
    assert not page.metric
