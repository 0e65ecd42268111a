"""Connections to streams: server-sent events, and WebSockets."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import httpx
from httpx_sse import SSEError, aconnect_sse
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, WebSocketException

from intake.event_settings import Events
from intake.providers import Pull
from intake.webhooks.mapping import find_id

_CONNECT_SECONDS = 10.0
_SILENT_SECONDS = 300.0
"""Read timeout (s) of server-sent events: a stream without data or comments for so long is reconnected."""

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_RETRY = 300_000  # maximum milliseconds that a server may ask for


class StreamError(Exception):
    """A stream can't be read now. The message contains neither address nor token."""


@dataclass(frozen=True)
class Element:
    """An element of a stream.

    Args:
        body: bytes as received; None for an element with only a position or a retry time.
        position: resume position after this element; None if it has none.
        id: id of the element, if the body has none.
        name: name of the element, if the body has none.
        retry: new minimum of seconds before the next connection.
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
        pull: settings of the stream.
        events: has the path to the id of an element.
        token: bearer token; None for none.
        position: the last position on disk; None for none.
        largest: maximum bytes of an element; a larger one ends the connection.

    Raises:
        StreamError: if the connection fails or ends with an error.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if pull.is_websocket:
        opened = _websocket(pull, events, headers, position, largest)
    else:
        opened = _server_sent_events(pull, headers, position, largest)
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
    """Assigns ids to server-sent events.

    By the specification, an event without an id keeps the last event's id. As it is a different event, its
    id is a hash of the last id and its content.

    Args:
        last: the position from which the stream was resumed.
    """

    last: str
    _first: tuple[str, str, str] | None = None

    def of(self, id_: str, name: str, data: str) -> str:
        """The id of an event."""
        element = (id_, name, data)
        if id_ and (self._first is None or id_ != self._first[0]):
            self.last, self._first = id_, element
        if self._first == element:
            return id_
        return sha256("\0".join((self.last, name, data)).encode()).hexdigest()[:32]


@asynccontextmanager
async def _server_sent_events(
    pull: Pull, headers: Mapping[str, str], position: str | None, largest: int
) -> AsyncIterator[AsyncGenerator[Element, None]]:
    # httpx encodes text as ASCII; the specification has UTF-8.
    sent = {name: value.encode() for name, value in headers.items()}
    sent["Accept-Encoding"] = b"identity"  # sizes are known before decompression
    if position:
        sent["Last-Event-ID"] = position.encode()
    timeout = httpx.Timeout(_CONNECT_SECONDS, read=_SILENT_SECONDS)
    async with (
        httpx.AsyncClient(timeout=timeout) as client,
        aconnect_sse(client, "GET", pull.url, headers=sent) as source,
    ):
        source.response.raise_for_status()
        if source.response.headers.get("content-encoding", "identity") != "identity":
            raise StreamError("a compressed stream, though none was asked for")
        source.response.stream = _LimitedEvents(source.response.stream, largest)

        async def elements() -> AsyncGenerator[Element, None]:
            ids = _Ids(position or "")
            async with aclosing(source.aiter_sse()) as found:
                async for each in found:
                    retry = _seconds(each.retry)
                    if not each.data:  # not an event, by the specification
                        yield Element(None, each.id or None, retry=retry)
                        continue
                    id_ = ids.of(each.id, each.event, each.data)
                    yield Element(each.data.encode(), each.id or None, id_, each.event, retry)

        yield elements()


class _LimitedEvents(httpx.AsyncByteStream):
    """The bytes of server-sent events, of which none may be too large.

    Args:
        stream: the bytes.
        largest: maximum bytes between two blank lines.
    """

    def __init__(self, stream: object, largest: int) -> None:
        assert isinstance(stream, httpx.AsyncByteStream)
        self._stream = stream
        self._largest = largest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, end = 0, b""
        async for part in self._stream:
            *_, last = _BLANK_LINE.split(end + part)
            size = size + len(part) if len(last) == len(end + part) else len(last)
            if size > self._largest:
                raise StreamError(f"an event has more than {self._largest:,} bytes")
            end = part[-3:] if len(part) > 3 else (end + part)[-3:]
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def _seconds(milliseconds: int | None) -> float | None:
    if milliseconds is None or milliseconds < 0:
        return None
    return min(milliseconds, _LONGEST_RETRY) / 1000  # an int can be too large for a float


class _WithoutRedirects(connect):
    """A WebSocket connection to the declared address only: another one must not get the token."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


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
    async with _WithoutRedirects(
        url, additional_headers=headers, open_timeout=_CONNECT_SECONDS, max_size=largest
    ) as connection:

        async def elements() -> AsyncGenerator[Element, None]:
            async for data in connection:
                body = data.encode() if isinstance(data, str) else data
                id_ = find_id(body, events)
                yield Element(body, id_, id_)

        yield elements()
