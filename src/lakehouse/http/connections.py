"""Limits that uvicorn lacks: deadlines for heads of requests, connections of an address, refused bodies."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Seconds from the opening of a connection, or the first byte of a later request, until its head is there."""
MOST_CONNECTIONS = 4096
"""Connections of a server; further ones are answered with 503."""
MOST_OF_ADDRESS = MOST_CONNECTIONS // 2
"""Connections of one IP address; further ones are closed. A load balancer is one address."""
MOST_AFTER_ANSWER = 4 << 20
"""Bytes of a body that are read after its answer: many clients read the answer only then."""


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head of each request, and a limit of connections by address."""

    _deadline: asyncio.TimerHandle | None = None
    _answered: Any = None
    _after_answer = 0
    """Bytes received after the answer to the request `_answered`."""

    def connection_made(self, transport: Any) -> None:
        """Close the connection if its address has too many; else wait for the head of a request."""
        super().connection_made(transport)
        address = self.client and self.client[0]
        addresses = [(getattr(each, "client", None) or ("",))[0] for each in self.connections]
        if address and addresses.count(address) > MOST_OF_ADDRESS:
            transport.abort()
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request. A body that goes on long after its answer ends the connection."""
        if self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete:
            if self.cycle is not self._answered:
                self._answered, self._after_answer = self.cycle, 0
            if self._after_answer > MOST_AFTER_ANSWER:
                self.transport.abort()
                return
            self._after_answer += len(data)  # the head of the next request may be in it, too
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
