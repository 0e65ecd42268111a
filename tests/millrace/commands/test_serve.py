"""`millrace serve` listens on external addresses only if an access token is declared."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kit.access import with_tokens, write_policy
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands
from millrace.local.process.home_lock import require_idle


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Arguments of the servers that would have been started."""
    found: list[object] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    monkeypatch.setattr("serving.api.server.serve", found.append)
    return found


def serve(*arguments: str) -> None:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ("serve", *arguments))
    if answer.exception:
        raise answer.exception


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.7"])
@pytest.mark.parametrize("text", ["", "local: admin\n"])
def test_external_address_needs_an_access_token(
    tmp_path: Path, served: list[object], address: str, text: str
) -> None:
    write_policy(tmp_path, text)
    with pytest.raises(MillraceError, match="no token is declared"):
        serve("--address", address)
    assert served == []
    with_tokens(tmp_path, text or "roles: {}\n", shop="admin")
    serve("--address", address)
    assert len(served) == 1


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_loopback_address_needs_a_token_or_trust(tmp_path: Path, served: list[object], address: str) -> None:
    write_policy(tmp_path, "local: admin\n")
    with pytest.raises(MillraceError, match="no token is declared"):
        serve("--address", address)
    assert served == []
    serve("--address", address, "--trust-local")
    assert len(served) == 1


def test_home_is_not_idle_while_serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses_reset(_served: object) -> None:
        with pytest.raises(MillraceError, match="serve-8789 is running"):
            require_idle(tmp_path)

    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    monkeypatch.setattr("serving.api.server.serve", refuses_reset)
    monkeypatch.setattr("millrace.local.process.ports.require_free", lambda *_: None)
    serve("--trust-local")
    require_idle(tmp_path)
