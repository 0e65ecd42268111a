"""Reads bodies and logins of HTTP requests, with limits."""

import base64
import binascii
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from intake.log.message_log import OverloadedError
from intake.segment_requests import BadRequestError


class TooLargeError(Exception):
    """A body, or an event in it, exceeds the size limit."""


class BodyMemory:
    """Bounds the memory of bodies that are being read.

    Args:
        budget: bytes for all bodies together.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._used = 0

    @contextmanager
    def hold(self, request: Request, most: int) -> Iterator[None]:
        """Reserve memory for a body while the block runs.

        Args:
            request: reserves its Content-Length; without that header, `most`.
            most: maximum bytes of the body.

        Raises:
            OverloadedError: if the budget is used up.
            TooLargeError: if Content-Length exceeds the maximum.
        """
        length = request.headers.get("content-length", "")
        size = int(length) if length.isascii() and length.isdigit() else most
        if size > most:
            raise TooLargeError(f"the body is larger than {most:,} bytes")
        if self._used + size > self._budget:
            raise OverloadedError
        self._used += size
        try:
            yield
        finally:
            self._used -= size


async def read_body(request: Request, most: int) -> bytes:
    """The decompressed body. Reading stops as soon as it is too large.

    Args:
        request: a request whose body has not been read.
        most: maximum bytes, before and after decompression.

    Raises:
        TooLargeError: if the body is larger.
        BadRequestError: if the body does not match its Content-Encoding.
        ClientDisconnect: if the client disconnects before the end of the body.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise TooLargeError(f"the body is larger than {most:,} bytes")
        parts.append(part)
    body = b"".join(parts)
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise BadRequestError("Content-Encoding is neither gzip nor identity")
    return _unzipped(body, most)


def basic_user(request: Request) -> str | None:
    """The user name of HTTP basic authentication: a write key. None if there is none."""
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[0] or None
    except (binascii.Error, ValueError):
        return None


def _unzipped(body: bytes, most: int) -> bytes:
    inflate = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = inflate.decompress(body, most + 1)
    except zlib.error:
        raise BadRequestError("the body is not gzip") from None
    if len(plain) > most:
        raise TooLargeError(f"the body is larger than {most:,} bytes")
    if not inflate.eof:
        raise BadRequestError("the body's gzip is cut off")
    return plain
