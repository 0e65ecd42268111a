"""The HTTP application: Segment's tracking API, with each event durable before it is acknowledged."""

import asyncio
import base64
import binascii
import zlib
from datetime import datetime, timezone
from http import HTTPStatus
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from intake.forwarder import Forwarder
from intake.message_log import MessageLog, OverloadedError, UnavailableError
from intake.segment_requests import KINDS, BadRequestError, Request, read_pixel, read_request
from intake.sources import Source, Sources

MOST_BYTES = 4 << 20
"""Of a body, compressed or not. Segment's own limit is 500 kB."""

_MOST_MESSAGE = 1_000_000
"""Bytes of one message: what a topic takes by default."""

RECEIPT = "Millrace-Receipt"
"""The header of an answer that names its request, for `millrace receipt`."""

_GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Content-Encoding",
    "Access-Control-Expose-Headers": "Millrace-Receipt",
    "Access-Control-Max-Age": "86400",
}
_RETRY_SECONDS = "1"


class Collector:
    """Answers requests.

    Args:
        log: keeps events until Kafka has them.
        forwarder: sends them to Kafka.
        sources: who may send.
    """

    def __init__(self, log: MessageLog, forwarder: Forwarder, sources: Sources) -> None:
        self._log = log
        self._forwarder = forwarder
        self._sources = sources

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/v1/{kind}", self.collect, methods=["POST"]),
                Route("/v1/{path:path}", self.preflight, methods=["OPTIONS"]),
                Route("/v1/pixel/{kind}", self.pixel, methods=["GET"]),
                Route("/v1/projects/{key}/settings", self.settings, methods=["GET"]),
                Route("/health", self.health, methods=["GET"]),
                Route("/ready", self.ready, methods=["GET"]),
            ]
        )

    async def collect(self, request: HttpRequest) -> Response:
        """Take the events of a body. 200 once they are on disk."""
        kind = request.path_params["kind"]
        if kind not in KINDS:
            return _refusal(404, f"there is no /v1/{kind}")
        try:
            body = await _body(request)
            found = read_request(kind, body, datetime.now(timezone.utc))
        except BadRequestError as error:
            return _refusal(400, str(error))
        except _TooLargeError:
            return _refusal(413, f"the body is larger than {MOST_BYTES:,} bytes")
        except ClientDisconnect:
            return Response(status_code=400)
        receipt = uuid4().hex
        taken = {**_CORS, RECEIPT: receipt}
        return await self._take(request, found, receipt) or JSONResponse({"success": True}, headers=taken)

    async def pixel(self, request: HttpRequest) -> Response:
        """Take the event of an image's URL. The image comes once the event is on disk."""
        kind = request.path_params["kind"]
        if KINDS.get(kind) is None:
            return _refusal(404, f"there is no pixel {kind}")
        try:
            found = read_pixel(kind, request.query_params.get("data", ""), datetime.now(timezone.utc))
        except BadRequestError as error:
            return _refusal(400, str(error))
        receipt = uuid4().hex
        headers = {**_CORS, RECEIPT: receipt, "Cache-Control": "no-store"}
        image = Response(_GIF, media_type="image/gif", headers=headers)
        return await self._take(request, found, receipt) or image

    async def _take(self, request: HttpRequest, found: Request, receipt: str) -> Response | None:
        """Write events to the log; None once they are on disk, else why not."""
        if self._source(request, found.write_key) is None:
            return _refusal(401, "the write key is not known, or not from here")
        if any(len(message.value) > _MOST_MESSAGE for message in found.messages):
            return _refusal(413, f"an event is larger than {_MOST_MESSAGE:,} bytes")
        try:
            written = self._log.append(receipt, found.messages)
            await asyncio.shield(asyncio.wrap_future(written))
        except OverloadedError:
            return _refusal(429, "too much is waiting, try again", {"Retry-After": _RETRY_SECONDS})
        except UnavailableError:
            return _refusal(503, "events cannot be stored now, try again", {"Retry-After": _RETRY_SECONDS})
        return None

    def _source(self, request: HttpRequest, in_body: str | None) -> Source | None:
        address = request.client.host if request.client else None
        return self._sources.find(_basic_user(request) or in_body, address, request.headers.get("origin"))

    async def preflight(self, request: HttpRequest) -> Response:
        """Let browsers send from any origin: the write key's own origins are checked with the events."""
        del request
        return Response(status_code=204, headers=_CORS)

    async def settings(self, request: HttpRequest) -> Response:
        """What analytics.js asks for first: to send everything here."""
        key = request.path_params["key"]
        here = {"apiKey": key, "apiHost": f"{request.url.netloc}/v1", "protocol": request.url.scheme}
        return JSONResponse({"integrations": {"Segment.io": here}, "plan": {}}, headers=_CORS)

    async def health(self, request: HttpRequest) -> Response:
        """That the process answers, and how much waits."""
        del request
        return JSONResponse(
            {
                "waiting": self._log.waiting,
                "waiting_bytes": self._log.size,
                "forwarded": self._forwarder.forwarded,
                "last_error": self._forwarder.last_error,
            }
        )

    async def ready(self, request: HttpRequest) -> Response:
        """200 once what an earlier process left in the log is in Kafka."""
        del request
        return Response(status_code=200 if self._forwarder.has_caught_up else 503)


class _TooLargeError(Exception):
    pass


async def _body(request: HttpRequest) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise _TooLargeError
        parts.append(part)
    body = b"".join(parts)
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise BadRequestError("Content-Encoding is neither gzip nor identity")
    return _unzipped(body)


def _unzipped(body: bytes) -> bytes:
    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = inflate.decompress(body, MOST_BYTES + 1)
    except zlib.error:
        raise BadRequestError("the body is not gzip") from None
    if len(plain) > MOST_BYTES:
        raise _TooLargeError
    if not inflate.eof:
        raise BadRequestError("the body's gzip is cut off")
    return plain


def _basic_user(request: HttpRequest) -> str | None:
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[0] or None
    except (binascii.Error, ValueError):
        return None


def _refusal(status: int, why: str, headers: dict[str, str] | None = None) -> Response:
    # Segment's and RudderStack's clients for Python read code and message, and fail where either is missing.
    content = {"success": False, "code": HTTPStatus(status).phrase, "message": why}
    return JSONResponse(content, status, {**_CORS, **(headers or {})})
