"""A response of server-sent events that ends if the subscriber does not take them in time."""

from collections.abc import AsyncGenerator, Callable

from sse_starlette import EventSourceResponse
from sse_starlette.sse import SendTimeoutError
from starlette.types import Receive, Scope, Send


class EventStream(EventSourceResponse):
    """A response of encoded events, which include heartbeats.

    Args:
        events: the events, as bytes.
        send_timeout: seconds within which the subscriber has to take an event.
        log: called with the reason when the timeout ends the response.
    """

    def __init__(
        self, events: AsyncGenerator[bytes, None], send_timeout: float, log: Callable[[str], None]
    ) -> None:
        super().__init__(events, ping=0, send_timeout=send_timeout)
        self._send_timeout = send_timeout
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            self._log(f"disconnected, it took no event for {self._send_timeout:g} s")
