"""Alert webhooks against a local receiver: signed, retried, and logged if delivery fails."""

import hashlib
import hmac
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.http_server import Request, serving
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
    alerts = alerts_to(settings.pop("alert_webhook", receiver.url), tmp_path, lines.append)
    alerts.send("the gate is closed", {"id": "one", "event": "gate_closed"})
    alerts.finish()
    return lines


def alerts_to(url: str, tmp_path: Path, say: Callable[[str], None]) -> Alerts:
    """Alerts to a webhook, with short pauses."""
    settings = load_settings(home=tmp_path, alert_webhook=url, alert_secret=SECRET)
    return Alerts(settings, say, pauses=(0.01, 0.02))


def finishes(alerts: Alerts) -> bool:
    """Whether all alerts are delivered or dropped within some seconds."""
    waiting = threading.Thread(target=alerts.finish, daemon=True)
    waiting.start()
    waiting.join(10)
    return not waiting.is_alive()


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


def test_answer_that_is_not_http_is_retried_and_logged(tmp_path: Path) -> None:
    bodies: list[bytes] = []

    def respond(request: Request) -> None:
        bodies.append(request.body())
        request.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")

    lines: list[str] = []
    with serving(respond) as port:
        alerts = alerts_to(f"http://127.0.0.1:{port}/", tmp_path, lines.append)
        alerts.send("the gate is closed", {"id": "one"})
        assert finishes(alerts)
    assert lines[1:] == ["the alert one was not taken: BadStatusLine('SSH-2.0-OpenSSH_9.6\\r\\n')"]
    assert len(bodies) == 3


def test_alerts_after_an_unexpected_error_are_sent(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        if "not taken" in line:
            raise BrokenPipeError

    alerts, post = alerts_to(receiver.url, tmp_path, say), Alerts._post

    def fail_once(self: Alerts, body: bytes) -> Any:
        monkeypatch.setattr(Alerts, "_post", post)
        raise RuntimeError("out of threads")

    monkeypatch.setattr(Alerts, "_post", fail_once)
    alerts.send("first", {"id": "one"})
    alerts.send("second", {"id": "two"})
    assert finishes(alerts)
    assert [each["id"] for each in receiver.messages] == ["two"]
    assert "the alert one was not taken: RuntimeError('out of threads')" in lines


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
