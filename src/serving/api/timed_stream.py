"""A streamed response that ends if its reader does not take it in time."""

import asyncio
from collections.abc import AsyncIterable, Callable
from contextlib import AbstractContextManager, nullcontext

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send


class _SlowReaderError(Exception):
    """A reader has not taken a part in time."""


class TimedStream(StreamingResponse):
    """A response whose parts are each taken in time.

    Args:
        parts: the parts.
        media_type: their media type.
        send_timeout: seconds within which the reader has to take a part.
        log: called with the reason when the timeout ends the response.
        during: entered while the response is sent.
    """

    def __init__(
        self,
        parts: AsyncIterable[bytes],
        media_type: str,
        headers: dict[str, str],
        send_timeout: float,
        log: Callable[[str], None],
        during: AbstractContextManager[object] | None = None,
    ) -> None:
        super().__init__(parts, media_type=media_type, headers=headers)
        self._send_timeout = send_timeout
        self._log = log
        self._during = during or nullcontext()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts."""

        async def send_in_time(message: Message) -> None:
            try:
                await asyncio.wait_for(send(message), self._send_timeout)
            except asyncio.TimeoutError:
                raise _SlowReaderError from None

        with self._during:
            try:
                await super().__call__(scope, receive, send_in_time)
            except _SlowReaderError:
                self._log(f"disconnected, it took nothing for {self._send_timeout:g} s")
