"""Reads the events of a request: its sender is known before they are decoded, and their memory is bounded."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from typing import NamedTuple, TypeVar
from uuid import uuid4

from starlette.requests import Request

from intake.bodies import BodyMemory, Lease, basic_user
from intake.encodings import json_text
from intake.segment_requests import Message, TooLargeError, read_request, read_write_key
from intake.sources import LOCAL, Semantics, Source, Sources
from lakehouse.http.loopback import is_this_machine

_BODY_MEMORY = 128 << 20
"""Bytes of requests that are read at the same time."""
_SMALL_BODY = 32 << 10
"""Bytes of a body that is decoded at once; a larger one would delay other requests."""
_MOST_EXPANDED = 16 << 20
"""Bytes of a batch's messages, each with the batch's context."""

Result = TypeVar("Result")
ReadBody = Callable[[int, Lease], Awaitable[bytes]]
"""Reads a body, given its maximum size in bytes and the memory to reserve."""


class UnknownSourceError(Exception):
    """A request of a sender who is not declared."""


class Received(NamedTuple):
    """The events of a request: their source, the receipt of the request, and the messages."""

    source: Source
    receipt: str
    messages: list[Message]


class RequestReader:
    """Reads requests.

    Args:
        sources: returns the current sources.
        trusts_local: whether programs on this machine may send while no source is declared.
    """

    def __init__(self, sources: Callable[[], Sources], *, trusts_local: bool) -> None:
        self._sources = sources
        self._trusts_local = trusts_local
        self._memory = BodyMemory(_BODY_MEMORY)

    def sender(self, request: Request, write_key: str | None = None) -> Source | None:
        """The source of a request; None if it may not send.

        Args:
            request: its login or its URL may have a write key.
            write_key: the write key in its body.
        """
        address = request.client.host if request.client else None
        is_local = self._trusts_local and is_this_machine(address, request.headers)
        key = basic_user(request) or write_key or request.query_params.get("writeKey")
        return self._sources().find(key, is_local, request.headers.get("origin"))

    def require_sender(self, request: Request, write_key: str | None = None) -> Source:
        """The source of a request, see `sender`.

        Raises:
            UnknownSourceError: if it may not send.
        """
        found = self.sender(request, write_key)
        if found is None:
            raise UnknownSourceError
        return found

    async def read(self, request: Request, kind: str, read_body: ReadBody) -> Received:
        """Read a request's events.

        Args:
            request: the request.
            kind: a key of `segment_requests.KINDS`.
            read_body: reads its body.

        Raises:
            UnknownSourceError: if the sender is not declared. Messages are not decoded then.
            BadRequestError: if the body is not valid.
            TooLargeError: if it exceeds a limit.
            OverloadedError: if there is no memory for it.
            SlowBodyError: if it comes too slowly.
        """
        received_at, receipt = datetime.now(timezone.utc), uuid4().hex
        source = self.require_sender(request) if basic_user(request) else self.sender(request)
        with self._memory.lease() as lease:
            body = await read_body(self._largest_body(source), lease)
            body = await _beside(len(body), json_text, body, request.headers.get("content-type", ""))
            if source is None:
                key = await _beside(len(body), read_write_key, body)
                source = self.require_sender(request, key)
            if len(body) > source.largest_body:
                raise TooLargeError(f"the body is larger than {source.largest_body:,} bytes")
            salt = receipt if source.delivery is Semantics.AT_LEAST_ONCE else ""
            return Received(source, receipt, await self._messages(kind, body, received_at, salt, lease))

    async def _messages(
        self, kind: str, body: bytes, received_at: datetime, salt: str, lease: Lease
    ) -> list[Message]:
        """The messages of a body."""
        reserved = self._sources().signed_prefixes
        found = await _beside(len(body), read_request, kind, body)
        if found.size > _MOST_EXPANDED:
            raise TooLargeError(f"with its context, the batch is larger than {_MOST_EXPANDED:,} bytes")
        lease.take(found.size)
        return await _beside(found.size, found.messages, received_at, salt, reserved)

    def _largest_body(self, source: Source | None) -> int:
        """Maximum bytes of a body: the source's limit if it is known, else the largest limit."""
        if source is not None:
            return source.largest_body
        return max((each.largest_body for each in self._sources().declared), default=LOCAL.largest_body)


async def _beside(size: int, work: Callable[..., Result], *arguments: object) -> Result:
    """The result of a function of so many bytes: large ones are decoded in a thread."""
    return work(*arguments) if size < _SMALL_BODY else await asyncio.to_thread(work, *arguments)
