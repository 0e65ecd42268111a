"""The HTTP application of the streaming API."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from lakehouse.access.read_log import Reads
from lakehouse.errors import MillraceError
from lakehouse.http.body_rate import SlowBodyError
from serving.api.event_stream import EventStream
from serving.api.following import Following, log_slow
from serving.api.readers import Readers, UnknownReaderError
from serving.api.receipts import Receipts
from serving.api.requests import as_of_of, receipt_of, seconds_of, terms_of, wanted_of
from serving.api.rows import open_rows
from serving.api.sessions import Sessions
from serving.api.sockets import Sockets
from serving.api.timed_stream import TimedStream
from serving.query_limits import TryLaterError
from serving.sources.table_source import view_of
from serving.stream.hub import Hub
from serving.stream.subscription import Terms

_POLL_SECONDS = 25.0
_MOST_POLL_SECONDS = 120.0
_RETRY_SECONDS = "5"
_LINES = "application/x-ndjson"
_THREADS = 64
"""Threads that read files: more than a few readers can occupy with large tables."""
_NO_STORE = {"Cache-Control": "no-store"}

POSITION = "Millrace-Position"
"""The response header of rows with the position after which their changes follow."""


class StreamingApi:
    """Handles requests of the streaming API.

    Args:
        hub: follows tables and queries.
        readers: authenticates readers.
        sessions: sessions of browsers.
        terms: default settings of subscriptions.
        send_timeout: seconds within which a subscriber has to take a message.
        reads: records what readers have seen; None: nothing is recorded.
        receipts: waits for receipts of a collector; None: there are none here.
    """

    def __init__(
        self,
        hub: Hub,
        readers: Readers,
        sessions: Sessions,
        terms: Terms,
        send_timeout: float,
        reads: Reads | None = None,
        receipts: Receipts | None = None,
    ) -> None:
        self._hub = hub
        self._receipts = receipts or Receipts(None)
        self._readers = readers
        self._sessions = sessions
        self._terms = terms
        self._send_timeout = send_timeout
        self._following = Following(reads)

    def app(self, more: Sequence[BaseRoute] = ()) -> Starlette:
        """The application.

        Args:
            more: additional routes.
        """
        sockets = Sockets(self._hub, self._readers, self._terms, self._send_timeout, self._following)
        return Starlette(
            routes=[
                Route("/v1/tables", self.tables),
                Route("/v1/rows", self.rows),
                Route("/v1/changes", self.stream),
                Route("/v1/poll", self.poll),
                WebSocketRoute("/v1/socket", sockets.serve),
                Route("/v1/session", self.begin_session, methods=["POST"]),
                Route("/v1/session", self.end_session, methods=["DELETE"]),
                Route("/health", self.health),
                *more,
            ],
            exception_handlers={
                TryLaterError: _refuse_for_now,
                SlowBodyError: _refuse_slow,
                UnknownReaderError: _refuse_reader,
                MillraceError: _refuse,
            },
            lifespan=self._lifespan,
        )

    async def tables(self, request: Request) -> Response:
        """The tables that the reader sees: what a row is, columns and key."""
        role = (await self._readers.admit(request)).role
        found = [
            {
                "table": view.table.name,
                "row": view.table.grain,
                "key": view.table.key,
                "columns": {column.name: column.type for column in view.columns},
            }
            for view in (view_of(role, name) for name in role.tables)
        ]
        return JSONResponse({"tables": found})

    async def rows(self, request: Request) -> Response:
        """The rows now, a JSON object a line, with the position in a header."""
        reader, fields = await self._readers.admit(request), request.query_params
        wanted, as_of, role = wanted_of(fields), as_of_of(fields), reader.role
        with ExitStack() as during:
            during.enter_context(self._following.reading(reader))
            if (receipt := receipt_of(fields)) is not None:
                wait = seconds_of(fields, "wait", _POLL_SECONDS, _MOST_POLL_SECONDS)
                await self._receipts.wait_for(receipt, wait, reader.name)
            arguments = (self._hub, wanted, as_of, role, reader.name)
            opened = await self._hub.read(wanted, reader.name, open_rows, *arguments)
            self._following.seen(reader, wanted).note(opened.position)
            headers = {POSITION: opened.token, **_NO_STORE}
            if opened.rest is None:
                return Response(opened.first, 200, headers, _LINES)
            log = partial(log_slow, request, wanted)
            return TimedStream(opened.pieces(), _LINES, headers, self._send_timeout, log, during.pop_all())

    async def stream(self, request: Request) -> Response:
        """Server-sent events: a snapshot or what was missed, then changes."""
        reader, fields = await self._readers.admit(request), request.query_params
        wanted, terms = wanted_of(fields), terms_of(fields, self._terms)
        after = request.headers.get("last-event-id") or fields.get("after")
        subscription = await self._hub.subscribe(wanted, reader.role, after, terms, reader.name)

        async def events() -> AsyncGenerator[bytes, None]:
            async with aclosing(self._following.messages(request, reader, wanted, subscription)) as messages:
                async for message in messages:
                    yield message.event

        return EventStream(events(), self._send_timeout, partial(log_slow, request, wanted))

    async def poll(self, request: Request) -> Response:
        """Long poll: messages up to the next position; without a change, one message after `wait` seconds."""
        reader, fields = await self._readers.admit(request), request.query_params
        wanted, terms = wanted_of(fields), terms_of(fields, self._terms)
        wait = seconds_of(fields, "wait", _POLL_SECONDS, _MOST_POLL_SECONDS)
        terms = replace(terms, heartbeat=wait)
        subscription = await self._hub.subscribe(wanted, reader.role, fields.get("after"), terms, reader.name)

        async def parts() -> AsyncGenerator[bytes, None]:
            yield b'{"messages":['
            async with aclosing(self._following.messages(request, reader, wanted, subscription)) as messages:
                separator = b""
                async for message in messages:
                    yield separator + message.json
                    separator = b","
                    if message.ends_poll:
                        break
            yield b"]}"

        return TimedStream(
            parts(), "application/json", _NO_STORE, self._send_timeout, partial(log_slow, request, wanted)
        )

    async def begin_session(self, request: Request) -> Response:
        """Give a browser a cookie for its token, or a later one for its cookie."""
        reader, response = self._readers.find(request), Response(status_code=204)
        if reader.token is not None:  # a reader without a token needs no cookie
            is_https = request.url.scheme == "https"
            self._sessions.begin(response, reader.token, reader.since, is_https=is_https)
        return response

    async def end_session(self, request: Request) -> Response:
        """Take the cookie back."""
        del request
        response = Response(status_code=204)
        self._sessions.end(response)
        return response

    async def health(self, request: Request) -> Response:
        """That the process answers. For readers also how many follow how much."""
        try:
            self._readers.find(request)
        except UnknownReaderError:
            return JSONResponse({"status": "ok"})
        counts = {"subscribers": self._following.count, "channels": self._hub.channels}
        return JSONResponse({"status": "ok", **counts})

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        del app
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "reading"))
        self._hub.start()
        following = asyncio.create_task(self._readers.follow_policy())
        yield
        following.cancel()
        self._hub.stop()
        await asyncio.to_thread(self._following.close)


async def _refuse(request: Request, error: Exception) -> Response:
    del request
    return JSONResponse({"error": str(error)}, 400, _NO_STORE)


async def _refuse_slow(request: Request, error: Exception) -> Response:
    del request, error
    return JSONResponse({"error": "the body came too slowly"}, 408, _NO_STORE)


async def _refuse_for_now(request: Request, error: Exception) -> Response:
    del request
    return JSONResponse({"error": str(error)}, 503, {"Retry-After": _RETRY_SECONDS, **_NO_STORE})


async def _refuse_reader(request: Request, error: Exception) -> Response:
    del request
    return JSONResponse({"error": str(error)}, 401, {"WWW-Authenticate": "Bearer", **_NO_STORE})
