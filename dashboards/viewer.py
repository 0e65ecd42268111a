"""The role that the pages are shown to."""

import os
from pathlib import Path

import access
import streamlit as st

from lakehouse.access.mask_key import MaskKey
from lakehouse.access.policy import ADMIN, Policy
from lakehouse.access.policy_file import PolicyFile
from lakehouse.access.role import Role
from lakehouse.bundle_file import conf_folder
from lakehouse.errors import MillraceError
from millrace.tables.reading_role import PRIVACY, answers_requests


def home() -> Path:
    """The folder of the local workspace."""
    return Path(os.environ.get("MILLRACE_HOME", ".millrace")).expanduser().resolve()


def role() -> Role | None:
    """The role of the viewer's account, or without a login that of MILLRACE_ROLE; None: they see nothing.

    Raises:
        MillraceError: if conf/access.yml is not as it should be, or has no such role.
    """
    if access.has_login():
        return _policy().role_of_account(access.verified_email(), is_allowed=access.has_list())
    name = os.environ.get("MILLRACE_ROLE")
    return _policy().role(name) if name else Role(ADMIN, MaskKey(home()))


def check_role() -> None:
    """Stop the script with an explanation, if there is nothing that the viewer may see."""
    try:
        found, reason = (
            role(),
            (
                "This account has no role: list it under `accounts` in conf/access.yml, or under `allow` in "
                ".streamlit/secrets.toml. Its address has to be verified by the provider."
            ),
        )
    except MillraceError as error:
        found, reason = None, f"{error.problem}. {error.next_step}."
    if found is None:
        st.subheader("No access", anchor=False)
        st.text(reason)
        if access.has_login():
            st.button("Log out", on_click=st.logout)
        st.stop()


def sees_everything() -> bool:
    """Whether the viewer sees everything, the state of the workspace too."""
    found = role()
    return found is not None and found.is_unrestricted


def may_see_privacy() -> bool:
    """Whether the viewer may see requests of persons: with the role `privacy`, or one that sees everything.

    The register of requests is in a home, so there is none where tables are those of a catalog.
    """
    found = role()
    return not os.environ.get("MILLRACE_CATALOG") and found is not None and answers_requests(found)


def require_privacy() -> None:
    """Stop the script with an explanation, unless the viewer may see requests of persons."""
    if not may_see_privacy():
        st.text(f"This page is for the role {PRIVACY}, and for roles that see everything.")
        st.stop()


def _policy() -> Policy:
    return _policy_file(str(conf_folder()), str(home())).current()


@st.cache_resource(show_spinner=False)
def _policy_file(conf: str, of_home: str) -> PolicyFile:
    """One for all viewers, which follows the file."""
    return PolicyFile(Path(conf), Path(of_home))
