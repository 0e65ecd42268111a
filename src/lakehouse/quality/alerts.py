"""Alerts: a line in the log, and a signed message to a webhook, with retries."""

import hashlib
import hmac
import json
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPException
from typing import Any

from lakehouse.settings import Settings

SIGNATURE = "Millrace-Signature"
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each retry."""
_TIMEOUT_SECONDS = 5.0
_FINAL = range(400, 500)
_TRY_AGAIN = (408, 425, 429)


class Alerts:
    """Sends alerts in order, on a thread, so that no job waits for a slow receiver.

    A message that is not accepted after all attempts is dropped, which is logged. The receiver may get a
    message twice: after a restart, the alert on a closed gate is repeated with the same `id`.

    Args:
        settings: URL and secret of the webhook; without a URL, alerts are only logged.
        say: writes a line to the log.
        pauses: seconds before each retry.
    """

    def __init__(
        self, settings: Settings, say: Callable[[str], None], pauses: Sequence[float] = PAUSES
    ) -> None:
        self._url = settings.alert_webhook
        self._secret = settings.alert_secret
        self._say = say
        self._pauses = pauses
        self._waiting: queue.Queue[dict[str, Any]] = queue.Queue()
        self._worker: threading.Thread | None = None

    def send(self, line: str, message: dict[str, Any]) -> None:
        """Log the line, and send the message in the background.

        Args:
            line: for the log.
            message: a JSON object with an `id` that is the same when the alert is repeated.
        """
        self._say(line)
        if self._url is None:
            return
        self._waiting.put({**message, "text": line})
        if self._worker is None:
            self._worker = threading.Thread(target=self._work, name="alerts", daemon=True)
            self._worker.start()

    def finish(self) -> None:
        """Wait until every message is delivered or dropped."""
        self._waiting.join()

    def _work(self) -> None:
        while True:
            message = self._waiting.get()
            try:
                problem = self._deliver(message)
            except Exception as error:  # noqa: BLE001 - later alerts are sent, whatever happens to this one
                problem = repr(error)
            with suppress(Exception):  # the same, where the log can't be written
                if problem:
                    self._say(f"the alert {message.get('id')} was not taken: {problem}")
            self._waiting.task_done()

    def _deliver(self, message: dict[str, Any]) -> str | None:
        """Why delivery failed after all attempts; None if it succeeded."""
        problem = None
        for pause in (0.0, *self._pauses):
            time.sleep(pause)
            problem, again = self._post(json.dumps(message, default=str).encode())
            if not again:
                break
        return problem

    def _post(self, body: bytes) -> tuple[str | None, bool]:
        """The problem, and whether a retry makes sense."""
        headers = {"Content-Type": "application/json"}
        if self._secret is not None:
            headers[SIGNATURE] = sign(self._secret.get_secret_value(), body)
        request = urllib.request.Request(str(self._url), body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS):
                return None, False
        except urllib.error.HTTPError as error:
            return f"HTTP {error.code}", error.code not in _FINAL or error.code in _TRY_AGAIN
        except HTTPException as error:  # an answer that is not HTTP
            return repr(error), True
        except (OSError, ValueError) as error:
            return str(error) or type(error).__name__, not isinstance(error, ValueError)


def sign(secret: str, body: bytes) -> str:
    """The value of the header `Millrace-Signature`: HMAC-SHA256 of the body, in hexadecimal digits."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
