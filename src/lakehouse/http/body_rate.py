"""A least rate of request bodies, so that silent senders do not hold connections and memory."""

import asyncio
import time
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

GRACE_SECONDS = 10.0
"""Seconds that a body may take without any byte."""
LEAST_RATE = 8 << 10
"""Bytes a second of a body after the grace."""
_STEPS = 4
_MOST_GRACES = 6
"""A sender that was fast may be silent for at most so many times the grace."""


class SlowBodyError(Exception):
    """A body arrives too slowly."""


@dataclass(frozen=True)
class BodyRate:
    """ASGI middleware: reading a body raises a `SlowBodyError` if it falls behind the least rate.

    Only the time for which the server waits for bytes counts, not that of its own work between them.

    Args:
        app: the application.
        grace: seconds without any byte.
        rate: bytes a second after it.
    """

    app: ASGIApp
    grace: float = GRACE_SECONDS
    rate: float = LEAST_RATE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        left, is_complete = self.grace, False

        async def receive_in_time() -> Message:
            nonlocal left, is_complete
            if is_complete:  # waits for the end of the connection
                return await receive()
            receiving = asyncio.ensure_future(receive())
            try:
                while not receiving.done():
                    if left <= 0:
                        raise SlowBodyError
                    step, since = min(self.grace / _STEPS, left), time.monotonic()
                    await asyncio.wait({receiving}, timeout=step)
                    left -= min(time.monotonic() - since, step)  # more is the time of a busy event loop
            finally:
                receiving.cancel()
            message = receiving.result()
            left = min(left + len(message.get("body", b"")) / self.rate, _MOST_GRACES * self.grace)
            is_complete = not message.get("more_body", False)
            return message

        await self.app(scope, receive_in_time, send)
