from pathlib import Path

import pytest

from lakehouse.errors import MillraceError
from lakehouse.settings import load_settings
from millrace.local.bind_policy import host_of, require_protection


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost"])
def test_loopback_address_needs_no_login(address: str, tmp_path: Path) -> None:
    require_protection(load_settings(dashboard_address=address), tmp_path)


@pytest.mark.parametrize("address", ["0.0.0.0", "10.1.2.3", "::", "shop.example"])
def test_external_address_without_login_is_rejected(address: str, tmp_path: Path) -> None:
    with pytest.raises(MillraceError, match="MILLRACE_DASHBOARD_WITHOUT_LOGIN=true"):
        require_protection(load_settings(dashboard_address=address), tmp_path)


def test_external_address_without_login_is_allowed_by_setting(tmp_path: Path) -> None:
    settings = load_settings(dashboard_address="10.1.2.3", dashboard_without_login=True)
    require_protection(settings, tmp_path)


@pytest.mark.parametrize(
    ("text", "has_login"), [("[auth]\n", True), ("[auth.google]\n", True), ("# [auth]\n", False)]
)
def test_external_address_is_allowed_only_with_login_section(
    text: str, has_login: bool, tmp_path: Path
) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "secrets.toml").write_text(text)
    settings = load_settings(dashboard_address="10.1.2.3")
    if has_login:
        require_protection(settings, tmp_path)
    else:
        with pytest.raises(MillraceError):
            require_protection(settings, tmp_path)


def test_wildcard_address_is_reached_at_loopback() -> None:
    assert [host_of(address) for address in ("0.0.0.0", "127.0.0.1", "10.1.2.3")] == [
        "127.0.0.1",
        "127.0.0.1",
        "10.1.2.3",
    ]
