"""Reads bodies and logins of HTTP requests, with limits."""

import asyncio
import base64
import binascii
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from intake.encodings import decompressed, is_compressed
from intake.log.message_log import OverloadedError
from intake.segment_requests import TooLargeError


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
        BadRequestError: if the body does not match its Content-Encoding; uncompressed JSON is accepted.
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
    sent = bytes(body)
    if not is_compressed(request.headers.get("content-encoding", ""), sent):
        return sent
    plain = await asyncio.to_thread(decompressed, sent, most)
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
