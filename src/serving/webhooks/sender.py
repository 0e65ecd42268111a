"""Sends one delivery as a signed POST, and interprets the response."""

import asyncio
import time
from dataclasses import dataclass
from http import HTTPStatus

import httpx

from serving.webhooks.signing import signed_headers
from serving.webhooks.target import is_of_this_machine
from serving.webhooks.webhook import Pending, Webhook

_MOST_WAIT = 3600.0


@dataclass(frozen=True)
class Answer:
    """The result of an attempt.

    Args:
        error: why it failed; None if the receiver accepted the delivery.
        is_gone: whether the receiver wants no more deliveries.
        wait: seconds that the receiver asks to wait; None if it does not.
    """

    error: str | None = None
    is_gone: bool = False
    wait: float | None = None


class Sender:
    """Sends the deliveries of one webhook over one connection.

    Args:
        webhook: the webhook.
        seconds: timeout of the receiver's response.
    """

    def __init__(self, webhook: Webhook, seconds: float) -> None:
        self._webhook = webhook
        self._seconds = seconds
        # Proxies of the environment are not for this machine.
        is_remote = not is_of_this_machine(webhook.url)
        self._client = httpx.AsyncClient(timeout=seconds, follow_redirects=False, trust_env=is_remote)

    async def send(self, pending: Pending) -> Answer:
        """Send a delivery once. The body of the response is not read."""
        signed = signed_headers(self._webhook.secret, pending.id, int(time.time()), pending.body)
        headers = {"Content-Type": "application/json", "User-Agent": "Millrace", **signed}
        try:
            return await asyncio.wait_for(self._post(pending.body, headers), self._seconds)
        except (asyncio.TimeoutError, httpx.TimeoutException):
            return Answer(f"no answer within {self._seconds:g} s")
        except (httpx.HTTPError, OSError) as error:
            return Answer(str(error) or type(error).__name__)

    async def _post(self, body: bytes, headers: dict[str, str]) -> Answer:
        async with self._client.stream("POST", self._webhook.url, content=body, headers=headers) as answer:
            return _meaning(answer.status_code, answer.headers.get("retry-after"))

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()


def _meaning(status: int, retry_after: str | None) -> Answer:
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return Answer()
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
    wait = None if seconds is None else min(seconds, _MOST_WAIT)
    return Answer(f"status {status}", status == HTTPStatus.GONE, wait)
