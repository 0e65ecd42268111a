"""WebSockets: the first message names a table or query; later ones change the subscription's settings."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from lakehouse.errors import MillraceError
from serving.api.following import Following, log_slow
from serving.api.readers import Reader, Readers, UnknownReaderError
from serving.api.requests import json_of, position_of, terms_of, wanted_of
from serving.stream.hub import Hub
from serving.stream.messages import Message, closed_message
from serving.stream.subscription import Subscription, Terms
from serving.stream.wanted import Wanted

_FIRST_SECONDS = 10.0  # for the first message
_CLOSE_SECONDS = 2.0
_PAUSE_SECONDS = 0.1  # between two later messages
_REFUSED, _SLOW = 1008, 1013
"""Close codes of RFC 6455 and its registry: policy violation, try again later."""
_GONE = (asyncio.TimeoutError, RuntimeError, WebSocketDisconnect)


class Sockets:
    """Serves WebSockets.

    Args:
        hub: follows tables and queries.
        readers: authenticates readers.
        terms: default settings of subscriptions.
        send_timeout: seconds within which a subscriber has to take a message.
        following: counts and logs subscriptions.
    """

    def __init__(
        self, hub: Hub, readers: Readers, terms: Terms, send_timeout: float, following: Following
    ) -> None:
        self._hub = hub
        self._readers = readers
        self._terms = terms
        self._send_timeout = send_timeout
        self._following = following

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection until it ends. A sender who may not read is refused with 403."""
        try:
            reader = await self._readers.admit(socket)
        except UnknownReaderError:
            await socket.close()
            return
        await socket.accept()
        try:
            code = await self._converse(socket, reader)
        except WebSocketDisconnect:
            return
        except MillraceError as error:
            with suppress(*_GONE):
                await asyncio.wait_for(socket.send_text(closed_message(str(error)).text), _CLOSE_SECONDS)
            code = _REFUSED
        with suppress(*_GONE):
            await asyncio.wait_for(socket.close(code), _CLOSE_SECONDS)

    async def _converse(self, socket: WebSocket, reader: Reader) -> int:
        """Send the messages that the first message asks for. Returns the close code."""
        try:
            asked = await asyncio.wait_for(_object(socket), _FIRST_SECONDS)
        except asyncio.TimeoutError:
            raise MillraceError("no message came", "Send what to follow as the first message") from None
        wanted, terms = wanted_of(asked), terms_of(asked, self._terms)
        subscription = await self._hub.subscribe(wanted, reader.role, position_of(asked), terms, reader.name)
        messages = self._following.messages(socket, reader, wanted, subscription)
        sending = asyncio.ensure_future(self._send(socket, wanted, messages))
        listening = asyncio.ensure_future(_listen(socket, subscription))
        done, left = await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        return next(iter(done)).result()

    async def _send(self, socket: WebSocket, wanted: Wanted, found: AsyncGenerator[Message, None]) -> int:
        async with aclosing(found) as messages:
            async for message in messages:
                try:
                    await asyncio.wait_for(socket.send_text(message.text), self._send_timeout)
                except asyncio.TimeoutError:
                    log_slow(socket, wanted, f"disconnected, it took no message for {self._send_timeout:g} s")
                    return _SLOW
        return _SLOW


async def _listen(socket: WebSocket, subscription: Subscription) -> int:
    """Change the settings of the subscription, as the client asks."""
    while True:
        subscription.terms = terms_of(await _object(socket), subscription.terms)
        await asyncio.sleep(_PAUSE_SECONDS)


async def _object(socket: WebSocket) -> dict[str, Any]:
    try:
        found = json_of(await socket.receive_text())
    except KeyError:  # a binary frame has no text
        found = None
    except RuntimeError:  # the connection was closed since
        raise WebSocketDisconnect from None
    if not isinstance(found, dict):
        raise MillraceError("a message has to be a JSON object", 'As an example: {"table": "gold.traffic"}')
    return found
