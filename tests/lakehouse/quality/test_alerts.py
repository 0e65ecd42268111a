"""Alert webhooks against a local receiver: signed, retried, and logged if delivery fails."""

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.webhook import Receiver, receiving
from lakehouse.bundle_file import BUNDLE_FILE
from lakehouse.quality.alerts import SIGNATURE, Alerts
from lakehouse.run.job_args import parse_parameters
from lakehouse.settings import load_settings

SECRET = "not told"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as listening:
        yield listening


def send(receiver: Receiver, tmp_path: Path, **settings: str) -> list[str]:
    """Send one alert, and return the lines that were logged."""
    lines: list[str] = []
    reported = {"alert_webhook": receiver.url, "alert_secret": SECRET, **settings}
    alerts = Alerts(load_settings(home=tmp_path, **reported), lines.append, pauses=(0.01, 0.02))
    alerts.send("the gate is closed", {"id": "one", "event": "gate_closed"})
    alerts.finish()
    return lines


def test_alert_is_signed_with_hmac(receiver: Receiver, tmp_path: Path) -> None:
    assert send(receiver, tmp_path) == ["the gate is closed"]
    (body,), (headers,) = receiver.bodies, receiver.headers
    assert headers[SIGNATURE] == "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    assert headers["Content-Type"] == "application/json"
    assert receiver.messages == [{"id": "one", "event": "gate_closed", "text": "the gate is closed"}]


def test_alert_is_retried_until_receiver_accepts_it(receiver: Receiver, tmp_path: Path) -> None:
    receiver.refusing = 2
    assert send(receiver, tmp_path) == ["the gate is closed"]
    assert len(set(receiver.bodies)) == 1
    assert len(receiver.bodies) == 3


def test_undelivered_alert_is_logged_after_last_retry(receiver: Receiver, tmp_path: Path) -> None:
    receiver.refusing = 9
    assert send(receiver, tmp_path)[1:] == ["the alert one was not taken: HTTP 503"]
    assert len(receiver.bodies) == 3


def test_alert_is_not_retried_after_client_error(receiver: Receiver, tmp_path: Path) -> None:
    receiver.refusing, receiver.code = 9, 404
    assert send(receiver, tmp_path)[1:] == ["the alert one was not taken: HTTP 404"]
    assert len(receiver.bodies) == 1


def test_refused_connection_is_logged(receiver: Receiver, tmp_path: Path) -> None:
    (_, problem) = send(receiver, tmp_path, alert_webhook="http://127.0.0.1:1/")
    assert "refused" in problem


def test_alert_secret_is_not_read_from_bundle_or_parameter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / BUNDLE_FILE).write_text("variables: {alert_secret: {default: x}, broker_port: {default: 7}}")
    monkeypatch.chdir(tmp_path)
    assert (load_settings().alert_secret, load_settings().broker_port) == (None, 7)
    monkeypatch.setenv("MILLRACE_ALERT_SECRET", SECRET)
    settings = load_settings()
    assert settings.alert_secret is not None
    assert settings.alert_secret.get_secret_value() == SECRET
    assert SECRET not in repr(settings)
    with pytest.raises(SystemExit):
        parse_parameters("publish", None, ["--alert_secret=x"])
