"""Access control: users of this machine may see the pages; all others have to log in."""

import ipaddress
import os
from collections.abc import Mapping
from typing import Any

import streamlit as st

CONFIRMATION = "MILLRACE_DASHBOARD_WITHOUT_LOGIN"
ON_DATABRICKS = "DATABRICKS_APP_NAME"  # set by the platform, which requires a login itself

_YES = ("1", "true", "yes", "on")


def check_viewer() -> None:
    """Stop the script with an explanation, unless the viewer may see the pages."""
    refusal = refusal_to_serve(st.get_option("server.address"), _login(), os.environ)
    if refusal:
        st.subheader("Not shown to everybody", anchor=False)
        st.text(refusal)
        st.stop()
    if _login() and not _logged_in():
        _ask_to_log_in()
    if _login() and not may_see(st.user.to_dict(), _login()):
        st.subheader("No access", anchor=False)
        st.text("This account is not among those that may see these pages.")
        st.button("Log out", on_click=st.logout)
        st.stop()


def refusal_to_serve(address: str | None, login: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Why the server must not show pages, given its address; empty if it may.

    Args:
        address: the address the server listens on; None means all addresses.
        login: the section `auth` of Streamlit's secrets; empty if there is none.
        environment: environment variables of the process.
    """
    is_confirmed = environment.get(CONFIRMATION, "").lower() in _YES
    if is_loopback(address) or login or is_confirmed or environment.get(ON_DATABRICKS):
        return ""
    return (
        f"This server listens on {address or 'every address of the machine'}, and nobody has to log in.\n"
        "Set up a login in .streamlit/secrets.toml (section [auth]), or listen on 127.0.0.1.\n"
        f"If everyone who can reach it may see all of it, say so: {CONFIRMATION}=yes"
    )


def is_loopback(address: str | None) -> bool:
    """Whether an address can be reached from this machine only."""
    if not address:
        return False
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def may_see(user: Mapping[str, Any], login: Mapping[str, Any]) -> bool:
    """Whether a user may have access: if `allow` lists email addresses or `@domains`, one of them must match.

    Args:
        user: claims of the provider.
        login: the section `auth` of Streamlit's secrets.
    """
    allowed = [str(each).lower() for each in login.get("allow", ())]
    email = str(user.get("email") or "").lower()
    fits = any(email == each or (each.startswith("@") and email.endswith(each)) for each in allowed)
    return not allowed or (is_verified(user, login) and bool(email) and fits)


def is_verified(user: Mapping[str, Any], login: Mapping[str, Any]) -> bool:
    """Whether the provider says that the address is the user's, or `trust_emails` that all of its are."""
    return user.get("email_verified") is True or (
        login.get("trust_emails") is True and user.get("email_verified") is not False
    )


def account() -> str | None:
    """The email address or name of the logged-in user; None without a login."""
    if not _login() or not _logged_in():
        return None
    return str(st.user.get("email") or st.user.get("name") or "somebody")


def has_login() -> bool:
    """Whether viewers have to log in."""
    return bool(_login())


def has_list() -> bool:
    """Whether `allow` lists who may see the pages."""
    return bool(_login().get("allow"))


def verified_email() -> str | None:
    """The email address of the logged-in user; None if there is none, or the provider has not verified it."""
    if not _logged_in() or not is_verified(st.user.to_dict(), _login()):
        return None
    return str(st.user.get("email") or "") or None


def _login() -> Mapping[str, Any]:
    try:
        section: Mapping[str, Any] = st.secrets.get("auth", {})
    except FileNotFoundError:  # there is no secrets file
        return {}
    return section


def _logged_in() -> bool:
    return bool(getattr(st.user, "is_logged_in", False))


def _ask_to_log_in() -> None:
    with st.container(border=True, horizontal_alignment="center"):
        st.subheader("Millrace", anchor=False)
        st.text("Log in to see the pages.")
        st.button("Log in", type="primary", on_click=st.login)
    st.stop()
