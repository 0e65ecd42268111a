"""Checks which addresses servers may listen on."""

import re
from pathlib import Path

from lakehouse.errors import MillraceError
from lakehouse.http.loopback import is_loopback
from lakehouse.settings import Settings
from millrace.local.process.ports import HOST

_LOGIN = re.compile(r"^\s*\[auth[\].]", re.MULTILINE)


def require_protection(settings: Settings, folder: Path) -> None:
    """Refuse to listen on non-loopback addresses without a login, unless the settings allow it.

    Args:
        settings: have the address, and whether it may be used without a login.
        folder: folder of the dashboard, whose `.streamlit/secrets.toml` may declare a login.

    Raises:
        MillraceError: if the dashboard would be open to everyone who reaches the address.
    """
    address = settings.dashboard_address
    if (
        address == "localhost"
        or is_loopback(address)
        or settings.dashboard_without_login
        or _has_login(folder)
    ):
        return
    raise MillraceError(
        f"the dashboard would listen on {address} without a login",
        "Set up a login in .streamlit/secrets.toml (section [auth]), or set"
        " MILLRACE_DASHBOARD_WITHOUT_LOGIN=true if everyone who can reach it may see all of it",
    )


def require_access(settings: Settings, address: str, problem: str, next_step: str) -> None:
    """Refuse to serve HTTP while nobody is declared, except to trusted programs on this machine.

    Args:
        settings: say whether programs on this machine are trusted.
        address: IP address to listen on.
        problem: what is not declared, so that nobody has access.
        next_step: how to declare it.

    Raises:
        MillraceError: if every request would be refused.
    """
    if not (settings.trust_local and is_loopback(address)):
        raise MillraceError(
            problem, f"{next_step}. For a trial on a machine of your own: --trust-local on 127.0.0.1"
        )


def host_of(address: str) -> str:
    """The host under which this machine reaches a listening address."""
    return HOST if address in ("", "0.0.0.0", "::") else address


def _has_login(folder: Path) -> bool:
    """Whether a Streamlit secrets file has a section `auth`."""
    places = (Path.home(), Path.cwd(), folder)
    files = [place / ".streamlit" / "secrets.toml" for place in places]
    return any(_LOGIN.search(file.read_text(encoding="utf-8")) for file in files if file.is_file())
