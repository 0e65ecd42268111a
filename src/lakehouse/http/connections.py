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
REST_SECONDS = 0.005
"""Seconds between two reads of such bytes, each of which takes a turn of the event loop from others."""


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
        if address and len(self.connections) > MOST_OF_ADDRESS:  # else it can't have too many
            addresses = [(getattr(each, "client", None) or ("",))[0] for each in self.connections]
            if addresses.count(address) > MOST_OF_ADDRESS:
                transport.abort()
                return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request. A body that goes on after its answer is read slowly, and not for long."""
        if self.conn.their_state is h11.SEND_BODY and self.cycle.response_complete:
            if self.cycle is not self._answered:
                self._answered, self._after_answer = self.cycle, 0
            if self._after_answer > MOST_AFTER_ANSWER:
                self.transport.abort()
                return
            self._after_answer += len(data)  # the head of the next request may be in it, too
            self._rest()
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _rest(self) -> None:
        self.transport.pause_reading()
        self.loop.call_later(REST_SECONDS, self._read_on)

    def _read_on(self) -> None:
        is_full = self.flow.read_paused  # the buffer of the next request
        if not self.transport.is_closing() and not is_full:
            self.transport.resume_reading()

    def _await_head(self) -> None:
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
