"""The HTTP application: Segment's tracking API, with each event durable before it is acknowledged."""

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from functools import partial
from http import HTTPStatus
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from intake.admission import Decision
from intake.bodies import Lease, read_body
from intake.browser.routes import browser_routes
from intake.delivery import Delivery
from intake.encodings import read_pixel
from intake.forwarder import Forwarder
from intake.log.message_log import MessageLog, OverloadedError, UnavailableError
from intake.promises import Leases, read_promise
from intake.request_reader import ReadBody, Received, RequestReader, UnknownSourceError
from intake.segment_requests import KINDS, BadRequestError, TooLargeError
from intake.sources import LOCAL, Sources
from lakehouse.http.body_rate import SlowBodyError

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
        self._reader = RequestReader(sources, trusts_local=trusts_local)
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
        return await self._answer(self._take(request, kind, partial(read_body, request)))

    async def pixel(self, request: HttpRequest) -> Response:
        """Take the event in an image's URL. Answers with the image once the event is durable."""
        kind = request.path_params["kind"]
        if KINDS.get(kind) is None:
            return _refusal(404, f"there is no pixel {kind}")

        async def read(most: int, lease: Lease) -> bytes:
            del most, lease  # a URL has 64 kB at most
            return read_pixel(request.query_params.get("data", ""))

        answer = await self._answer(self._take(request, kind, read))
        if answer.status_code != HTTPStatus.OK:
            return answer
        headers = {**_CORS, RECEIPT: answer.headers[RECEIPT], "Cache-Control": "no-store"}
        return Response(_GIF, media_type="image/gif", headers=headers)

    async def promise(self, request: HttpRequest) -> Response:
        """Take a promise without events, from the header. Answers 200 once it is durable."""
        if request.headers.get(PROMISE) is None:
            return _refusal(400, f"the header {PROMISE} is missing")

        async def take() -> Response:
            return await self._deliver(
                request, Received(self._reader.require_sender(request), uuid4().hex, [])
            )

        return await self._answer(take())

    async def _take(self, request: HttpRequest, kind: str, read: ReadBody) -> Response:
        return await self._deliver(request, await self._reader.read(request, kind, read))

    async def _deliver(self, request: HttpRequest, received: Received) -> Response:
        source, receipt, messages = received
        promise = read_promise(request.headers.get(PROMISE))
        if promise is not None and not source.promises:
            raise BadRequestError(f"source {source.name} makes no promises: conf/sources.yml has `promises`")
        decision = await self._delivery.deliver(
            source, receipt, messages, promise, has_reserve=self._sources().has_protected
        )
        self._leases.note(source, promise)
        content = {"success": True} | ({"shed": len(messages)} if decision is Decision.SHED else {})
        named = {RECEIPT: receipt} if messages else {}  # a request without events has no receipt
        return JSONResponse(content, headers={**_CORS, **named})

    async def _answer(self, taking: Awaitable[Response]) -> Response:
        try:
            return await taking
        except BadRequestError as error:
            return _refusal(400, str(error))
        except UnknownSourceError:
            return _refusal(401, "the write key is not known, or not from here")
        except SlowBodyError:
            return _refusal(408, "the body came too slowly")
        except TooLargeError as error:
            return _refusal(413, str(error))
        except ClientDisconnect:
            return Response(status_code=400)
        except OverloadedError:
            return _refusal(429, "too much is waiting, try again", {"Retry-After": _RETRY_SECONDS})
        except UnavailableError:
            return _refusal(503, "events cannot be stored now, try again", {"Retry-After": _RETRY_SECONDS})

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
        """Health check. With a write key also how much waits, and the counts of each source."""
        if self._reader.sender(request) is None:
            return JSONResponse({"status": "ok"})
        totals = self._log.totals
        accounts = await asyncio.to_thread(self._log.counts)
        return JSONResponse(
            {
                "status": "ok",
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


def _refusal(status: int, why: str, headers: dict[str, str] | None = None) -> Response:
    # Segment's and RudderStack's clients for Python read code and message, and fail where either is missing.
    content = {"success": False, "code": HTTPStatus(status).phrase, "message": why}
    return JSONResponse(content, status, {**_CORS, **(headers or {})})
