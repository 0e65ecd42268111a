"""Connections to streams: server-sent events, and WebSockets."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import httpx
from httpx_sse import SSEError, aconnect_sse
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, WebSocketException

from intake.providers import Events, Pull
from intake.webhooks.mapping import find_id

_CONNECT_SECONDS = 10.0
_SILENT_SECONDS = 300.0
"""A stream of server-sent events that sends nothing for so long, not even a comment, is connected again."""

_LONGEST_RETRY = 300_000  # milliseconds that a server may ask for


class StreamError(Exception):
    """A stream cannot be read now. The message has neither address nor token."""


@dataclass(frozen=True)
class Element:
    """An element of a stream.

    Args:
        body: as it came; None for one that only moves the position or sets the time to wait.
        position: of the stream with this element; None if it has none.
        id: its id, where the body names none.
        name: its name, where the body names none.
        retry: seconds to wait before the next connection, from now on.
    """

    body: bytes | None
    position: str | None = None
    id: str | None = None
    name: str | None = None
    retry: float | None = None


@asynccontextmanager
async def open_stream(
    pull: Pull, events: Events, token: str | None, position: str | None, largest: int
) -> AsyncIterator[AsyncIterator[Element]]:
    """Connect to a stream. Yields its elements after a position.

    Args:
        pull: where it is.
        events: has the path to the id of an element.
        token: for the server; None for none.
        position: the last that is on disk; None for none.
        largest: bytes of an element of a WebSocket; a larger one ends the connection.

    Raises:
        StreamError: if there is no connection, or it ends with an error.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if pull.is_websocket:
        opened = _websocket(pull, events, headers, position, largest)
    else:
        opened = _server_sent_events(pull, headers, position)
    try:
        async with opened as elements, aclosing(elements):
            yield elements
    except httpx.HTTPStatusError as error:
        raise StreamError(f"status {error.response.status_code}") from None
    except InvalidHandshake as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        raise StreamError(f"status {status}" if status else type(error).__name__) from None
    except (httpx.HTTPError, httpx.InvalidURL, SSEError, WebSocketException, OSError) as error:
        raise StreamError(type(error).__name__) from None  # its text may have the address


@dataclass
class _Ids:
    """Gives elements of server-sent events their ids.

    An event without an id has that of the event before, as the specification has it. It is another event all
    the same, and its id is made of its content and the last id.

    Args:
        last: the position at which the stream was resumed.
    """

    last: str
    _first: tuple[str, str, str] | None = None

    def of(self, id_: str, name: str, data: str) -> str:
        """The id of an element."""
        element = (id_, name, data)
        if id_ and (self._first is None or id_ != self._first[0]):
            self.last, self._first = id_, element
        if self._first == element:
            return id_
        return sha256("\0".join((self.last, name, data)).encode()).hexdigest()[:32]


@asynccontextmanager
async def _server_sent_events(
    pull: Pull, headers: dict[str, str], position: str | None
) -> AsyncIterator[AsyncGenerator[Element, None]]:
    if position:
        headers["Last-Event-ID"] = position
    timeout = httpx.Timeout(_CONNECT_SECONDS, read=_SILENT_SECONDS)
    async with (
        httpx.AsyncClient(timeout=timeout) as client,
        aconnect_sse(client, "GET", pull.url, headers=headers) as source,
    ):
        source.response.raise_for_status()

        async def elements() -> AsyncGenerator[Element, None]:
            ids = _Ids(position or "")
            async with aclosing(source.aiter_sse()) as found:
                async for each in found:
                    retry = _seconds(each.retry)
                    if not each.data:  # no event, as the specification has it
                        yield Element(None, each.id or None, retry=retry)
                        continue
                    id_ = ids.of(each.id, each.event, each.data)
                    yield Element(each.data.encode(), each.id or None, id_, each.event, retry)

        yield elements()


def _seconds(milliseconds: int | None) -> float | None:
    if milliseconds is None or milliseconds < 0:
        return None
    return min(milliseconds, _LONGEST_RETRY) / 1000  # an int can be too large for a float


@asynccontextmanager
async def _websocket(
    pull: Pull, events: Events, headers: dict[str, str], position: str | None, largest: int
) -> AsyncIterator[AsyncGenerator[Element, None]]:
    parts = urlsplit(pull.url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    if pull.resume_parameter and position:
        query = [(name, value) for name, value in query if name != pull.resume_parameter]
        query.append((pull.resume_parameter, position))
    url = urlunsplit(parts._replace(query=urlencode(query)))
    async with connect(
        url, additional_headers=headers, open_timeout=_CONNECT_SECONDS, max_size=largest
    ) as connection:

        async def elements() -> AsyncGenerator[Element, None]:
            async for data in connection:
                body = data.encode() if isinstance(data, str) else data
                id_ = find_id(body, events)
                yield Element(body, id_, id_)

        yield elements()
