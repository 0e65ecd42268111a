"""Invalid certificates and replay options are rejected before a collector or replay starts."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from intake.log.entries import Write
from intake.log.message_log import MessageLog
from intake.log.place import log_file
from intake.segment_requests import Message
from kit.certificates import new_certificates
from lakehouse.errors import MillraceError
from lakehouse.http.tls import Tls
from millrace.cli import app, register_commands


def test_missing_or_invalid_certificate_is_rejected(tmp_path: Path) -> None:
    made = new_certificates(tmp_path / "tls")
    Tls(made.server, made.server, made.ca).check()
    (tmp_path / "text.pem").write_text("text")
    for certificate, key, why in (
        (tmp_path / "nowhere.pem", made.server, "nowhere.pem is not there"),
        (tmp_path / "text.pem", made.server, "can't be used"),
        (made.server, made.client, "can't be used"),
    ):
        with pytest.raises(MillraceError, match=why):
            Tls(certificate, key).check()


@pytest.fixture
def home_with_shed_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose collector has shed an event of `shop`."""
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    if not app.registered_commands:
        register_commands()
    log = MessageLog(log_file(tmp_path, "main"))
    log.append(Write("r", "shop", [Message(b"k", b"{}")], is_shed=True)).result()
    log.close()
    return tmp_path


def test_shed_events_of_a_source_are_replayed(home_with_shed_event: Path) -> None:
    done = CliRunner().invoke(app, ["replay", "shed", "--source", "shop"])
    assert (done.exit_code, "main: 1 shed events go to Kafka" in done.output) == (0, True)
    log = MessageLog(log_file(home_with_shed_event, "main"))
    assert (log.totals.waiting, log.totals.shed) == (1, 0)
    log.close()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["replay", "--source", "shop"], "--source is of shed events"),
        (["replay", "shed", "--source", "shpo"], "knows a source shpo"),
    ],
)
def test_replay_with_invalid_source_option_is_rejected(
    home_with_shed_event: Path, arguments: list[str], why: str
) -> None:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code != 0
    assert why in str(done.exception)
