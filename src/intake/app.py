"""The HTTP application: Segment's tracking API, with each event durable before it is acknowledged."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from functools import partial
from http import HTTPStatus
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from intake.admission import Decision
from intake.bodies import BodyMemory, TooLargeError, basic_user, read_body
from intake.browser.routes import browser_routes
from intake.delivery import Delivery
from intake.forwarder import Forwarder
from intake.log.message_log import MessageLog, OverloadedError, UnavailableError
from intake.promises import Leases, read_promise
from intake.segment_requests import KINDS, BadRequestError, Message, Request, read_pixel, read_request
from intake.sources import LOCAL, Semantics, Source, Sources
from lakehouse.loopback import is_this_machine

_BODY_MEMORY = 128 << 20
"""Bytes of bodies that are read at the same time."""
_MOST_MESSAGE = 1_000_000
"""Bytes of one message: what a topic takes by default."""

RECEIPT = "Millrace-Receipt"
"""The header of an answer that names its request, for `millrace receipt`."""
PROMISE = "Millrace-Promise"
"""The header of a request with the time before which its source sends no more events."""

_GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": f"Authorization, Content-Type, Content-Encoding, {PROMISE}",
    "Access-Control-Expose-Headers": f"{RECEIPT}, Retry-After",
    "Access-Control-Max-Age": "86400",
}
_RETRY_SECONDS = "1"
_LEASE_SECONDS = 1.0  # between two checks of leases


class Collector:
    """Handles requests of the tracking API.

    Args:
        log: keeps events until Kafka has them.
        forwarder: sends them to Kafka.
        delivery: takes events with the semantics of their source.
        sources: returns the current sources.
        trusts_local: whether programs on this machine may send while no source is declared.
    """

    def __init__(
        self,
        log: MessageLog,
        forwarder: Forwarder,
        delivery: Delivery,
        sources: Callable[[], Sources],
        *,
        trusts_local: bool = False,
    ) -> None:
        self._log = log
        self._forwarder = forwarder
        self._delivery = delivery
        self._sources = sources
        self._trusts_local = trusts_local
        self._memory = BodyMemory(_BODY_MEMORY)
        self._leases = Leases(log, lambda name: (sources().named(name) or LOCAL).lease, time.monotonic)

    def app(
        self, more: Sequence[BaseRoute] = (), background: Sequence[Callable[[], Awaitable[None]]] = ()
    ) -> Starlette:
        """The application.

        Args:
            more: additional routes.
            background: coroutines that run as long as the application.
        """
        return Starlette(
            routes=[
                Route("/v1/promise", self.promise, methods=["POST"]),
                Route("/v1/{kind}", self.collect, methods=["POST"]),
                Route("/v1/{path:path}", self.preflight, methods=["OPTIONS"]),
                Route("/v1/pixel/{kind}", self.pixel, methods=["GET"]),
                Route("/v1/projects/{key}/settings", self.settings, methods=["GET"]),
                Route("/health", self.health, methods=["GET"]),
                Route("/ready", self.ready, methods=["GET"]),
                *browser_routes(shop=self._trusts_local and not self._sources().declared),
                *more,
            ],
            lifespan=partial(self._lifespan, background),
        )

    async def collect(self, request: HttpRequest) -> Response:
        """Take the events of a request body. Answers 200 once they are durable."""
        kind = request.path_params["kind"]
        if kind not in KINDS:
            return _refusal(404, f"there is no /v1/{kind}")

        async def read() -> Request:
            most = self._largest_body(request)
            with self._memory.hold(request, most):
                return read_request(kind, await read_body(request, most))

        return await self._answer(request, read)

    async def pixel(self, request: HttpRequest) -> Response:
        """Take the event in an image's URL. Answers with the image once the event is durable."""
        kind = request.path_params["kind"]
        if KINDS.get(kind) is None:
            return _refusal(404, f"there is no pixel {kind}")

        async def read() -> Request:
            return read_pixel(kind, request.query_params.get("data", ""))

        answer = await self._answer(request, read)
        if answer.status_code != HTTPStatus.OK:
            return answer
        headers = {**_CORS, RECEIPT: answer.headers[RECEIPT], "Cache-Control": "no-store"}
        return Response(_GIF, media_type="image/gif", headers=headers)

    async def promise(self, request: HttpRequest) -> Response:
        """Take a promise without events, from the header. Answers 200 once it is durable."""

        async def read() -> Request:
            if request.headers.get(PROMISE) is None:
                raise BadRequestError(f"the header {PROMISE} is missing")
            return Request([], {}, None, None, 0)

        return await self._answer(request, read)

    async def _answer(self, request: HttpRequest, read: Callable[[], Awaitable[Request]]) -> Response:
        received_at = datetime.now(timezone.utc)
        try:
            found = await read()
            promise = read_promise(request.headers.get(PROMISE))
            source = self._source(request, found.write_key)
            if source is None:
                return _refusal(401, "the write key is not known, or not from here")
            receipt = uuid4().hex
            messages = _messages(found, source, received_at, receipt)
            decision = await self._delivery.deliver(
                source, receipt, messages, promise, has_reserve=self._sources().has_protected
            )
            self._leases.note(source, promise)
        except BadRequestError as error:
            return _refusal(400, str(error))
        except TooLargeError as error:
            return _refusal(413, str(error))
        except ClientDisconnect:
            return Response(status_code=400)
        except OverloadedError:
            return _refusal(429, "too much is waiting, try again", {"Retry-After": _RETRY_SECONDS})
        except UnavailableError:
            return _refusal(503, "events cannot be stored now, try again", {"Retry-After": _RETRY_SECONDS})
        content = {"success": True} | ({"shed": len(messages)} if decision is Decision.SHED else {})
        named = {RECEIPT: receipt} if messages else {}  # a request without events has no receipt
        return JSONResponse(content, headers={**_CORS, **named})

    def _source(self, request: HttpRequest, in_body: str | None) -> Source | None:
        address = request.client.host if request.client else None
        is_local = self._trusts_local and is_this_machine(address, request.headers)
        key = basic_user(request) or in_body or request.query_params.get("writeKey")
        return self._sources().find(key, is_local, request.headers.get("origin"))

    def _largest_body(self, request: HttpRequest) -> int:
        """Maximum bytes of a body: the source's limit if the headers identify it, else the largest limit."""
        sources = self._sources()
        if (source := self._source(request, None)) is not None:
            return source.largest_body
        return max((source.largest_body for source in sources.declared), default=LOCAL.largest_body)

    async def preflight(self, request: HttpRequest) -> Response:
        """Let browsers send from any origin; the origins of the write key are checked with the events."""
        del request
        return Response(status_code=204, headers=_CORS)

    async def settings(self, request: HttpRequest) -> Response:
        """The settings that analytics.js loads first: send all events to this host."""
        key = request.path_params["key"]
        here = {"apiKey": key, "apiHost": f"{request.url.netloc}/v1", "protocol": request.url.scheme}
        return JSONResponse({"integrations": {"Segment.io": here}, "plan": {}}, headers=_CORS)

    async def health(self, request: HttpRequest) -> Response:
        """Health check: how much waits, and the counts of each source since the log was created."""
        del request
        totals = self._log.totals
        accounts = await asyncio.to_thread(self._log.counts)
        return JSONResponse(
            {
                "waiting": totals.waiting,
                "waiting_bytes": totals.size,
                "shed": totals.shed,
                "forwarded": self._forwarder.forwarded,
                "last_error": self._forwarder.last_error,
                "sources": {account.source: asdict(account) for account in accounts},
            }
        )

    async def ready(self, request: HttpRequest) -> Response:
        """Readiness check: 200 once Kafka has all messages that an earlier process left in the log."""
        del request
        return Response(status_code=200 if self._forwarder.has_caught_up else 503)

    @asynccontextmanager
    async def _lifespan(
        self, background: Sequence[Callable[[], Awaitable[None]]], app: Starlette
    ) -> AsyncIterator[None]:
        del app
        tasks = [asyncio.ensure_future(each()) for each in (self._end_leases, *background)]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end_leases(self) -> None:
        while True:
            self._leases.end_expired()
            await asyncio.sleep(_LEASE_SECONDS)


def _messages(found: Request, source: Source, received_at: datetime, receipt: str) -> list[Message]:
    salt = receipt if source.delivery is Semantics.AT_LEAST_ONCE else ""
    messages = found.messages(received_at, salt)
    if any(len(message.value) > _MOST_MESSAGE for message in messages):
        raise TooLargeError(f"an event is larger than {_MOST_MESSAGE:,} bytes")
    if found.size > source.largest_body:
        raise TooLargeError(f"the body is larger than {source.largest_body:,} bytes")
    return messages


def _refusal(status: int, why: str, headers: dict[str, str] | None = None) -> Response:
    # Segment's and RudderStack's clients for Python read code and message, and fail where either is missing.
    content = {"success": False, "code": HTTPStatus(status).phrase, "message": why}
    return JSONResponse(content, status, {**_CORS, **(headers or {})})
