"""Reads bodies and logins of HTTP requests, with limits."""

import asyncio
import base64
import binascii
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from intake.log.message_log import OverloadedError
from intake.segment_requests import BadRequestError, TooLargeError

_FEW_BYTES, _MOST_RATIO = 64 << 10, 100
"""A body may be decompressed to so many bytes, or to so many times its size: events reach a ratio of 50."""


class BodyMemory:
    """Bounds the memory of requests that are being read.

    Args:
        budget: bytes of all requests together.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._used = 0

    @contextmanager
    def lease(self) -> Iterator["Lease"]:
        """Memory of one request, freed at the end of the block."""
        lease = Lease(self)
        try:
            yield lease
        finally:
            self._used -= lease.size

    def take(self, size: int) -> None:
        """Reserve bytes.

        Raises:
            OverloadedError: if the budget is used up.
        """
        if self._used + size > self._budget:
            raise OverloadedError
        self._used += size


class Lease:
    """The memory that a request has reserved.

    Args:
        memory: what it is reserved of.
    """

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self.size = 0

    def take(self, size: int) -> None:
        """Reserve more bytes, once they are there.

        Raises:
            OverloadedError: if the budget is used up.
        """
        self._memory.take(size)
        self.size += size


async def read_body(request: Request, most: int, lease: Lease) -> bytes:
    """The decompressed body. Reading stops as soon as it is too large.

    Args:
        request: a request whose body has not been read.
        most: maximum bytes, before and after decompression.
        lease: reserves memory as parts of the body come.

    Raises:
        TooLargeError: if the body is larger, or was compressed more than events can be.
        BadRequestError: if the body does not match its Content-Encoding.
        OverloadedError: if there is no memory for it.
        SlowBodyError: if it arrives too slowly.
        ClientDisconnect: if the client disconnects before the end of the body.
    """
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > most:
        raise TooLargeError(f"the body is larger than {most:,} bytes")
    body = bytearray()
    async for part in request.stream():
        if len(body) + len(part) > most:
            raise TooLargeError(f"the body is larger than {most:,} bytes")
        lease.take(len(part))
        body += part
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return bytes(body)
    if encoding != "gzip":
        raise BadRequestError("Content-Encoding is neither gzip nor identity")
    most_plain = min(most, max(_FEW_BYTES, _MOST_RATIO * len(body)))
    plain = await asyncio.to_thread(_unzipped, bytes(body), most_plain)
    lease.take(len(plain))
    return plain


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
        raise TooLargeError(f"the body has more than {most:,} bytes once it is decompressed")
    if not inflate.eof:
        raise BadRequestError("the body's gzip is cut off")
    return plain
