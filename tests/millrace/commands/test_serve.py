"""`millrace serve` starts only where somebody could read, and not in the open by mistake."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kit.access import with_tokens, write_policy
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What would have been served."""
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
def test_an_open_address_needs_a_token(tmp_path: Path, served: list[object], address: str, text: str) -> None:
    write_policy(tmp_path, text)
    with pytest.raises(MillraceError, match="no token is declared"):
        serve("--address", address)
    assert served == []
    with_tokens(tmp_path, text or "roles: {}\n", shop="admin")
    serve("--address", address)
    assert len(served) == 1


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_this_machine_needs_none(tmp_path: Path, served: list[object], address: str) -> None:
    write_policy(tmp_path, "")
    serve("--address", address)
    assert len(served) == 1
