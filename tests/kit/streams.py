"""Servers that stream numbered events, by server-sent events or WebSocket, and resume after an id."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request as HandshakeRequest
from websockets.http11 import Response
from websockets.sync.server import ServerConnection, serve

from kit.http_server import Request, running, serving


@dataclass
class Stream:
    """The events that a server sends, and the requests that it received.

    Args:
        allowed: number of events that it sends before it waits.
        repeats: whether a resumed stream starts with the event of the given id again.
        cut: number of events after which it ends a connection; 0 for never.
        refused: number of first requests that it answers with status 503.
        retry: milliseconds that it asks clients to wait before a reconnect; None for no such field.
        padding: additional bytes of each event.
        raw: lines of server-sent events to send in place of numbered events.
        redirect: address that a first request is redirected to.
    """

    allowed: int = 0
    repeats: bool = False
    cut: int = 0
    refused: int = 0
    retry: int | None = None
    padding: int = 0
    raw: bytes | None = None
    redirect: str | None = None
    url: str = ""
    sent: int = 0
    resumed: list[str | None] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    is_closed: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def allow(self, number: int) -> None:
        """Send events up to this number."""
        with self._changed:
            self.allowed = number
            self._changed.notify_all()

    def wait_until_sent(self, number: int) -> None:
        """Wait until this number of events were sent, counted over all connections."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.sent >= number, 30)

    def close(self) -> None:
        """End all connections."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()

    def events(self, last: str | None, token: str | None) -> Iterator[dict[str, Any]]:
        """The events after an id, each as soon as it is allowed."""
        self.resumed.append(last)
        self.tokens.append(token)
        number = first = int(last or 0) + (0 if self.repeats and last else 1)
        while True:
            with self._changed:
                self._changed.wait_for(lambda number=number: self.is_closed or number <= self.allowed)
                if self.is_closed or (self.cut and number - first >= self.cut):
                    return
                self.sent += 1
                self._changed.notify_all()
            yield {"id": number, "type": "Signed Up", "user": f"u{number}", "more": "x" * self.padding}
            number += 1


@contextmanager
def sse_server(**options: Any) -> Iterator[Stream]:
    """Serve server-sent events until the block ends."""
    stream = Stream(**options)

    def respond(request: Request) -> None:
        if stream.refused > 0:
            stream.refused -= 1
            request.send_error(503)
            return
        request.send_response(200 if stream.redirect is None else 302)
        request.send_header("Content-Type", "text/event-stream")
        if stream.redirect is not None:
            request.send_header("Location", stream.redirect)
        request.end_headers()
        with suppress(OSError):
            if stream.retry is not None:
                request.wfile.write(b"retry: %d\n\n" % stream.retry)
            for event in stream.events(request.headers["Last-Event-ID"], request.headers["Authorization"]):
                request.wfile.write(stream.raw or sse_text(event))
                request.wfile.flush()

    with serving(respond) as port, closing(stream):
        stream.url = f"http://127.0.0.1:{port}/events"
        yield stream


@contextmanager
def websocket_server(**options: Any) -> Iterator[Stream]:
    """Serve a WebSocket until the block ends."""
    stream = Stream(**options)

    def answer(connection: ServerConnection) -> None:
        request = connection.request
        assert request is not None
        last = parse_qs(urlsplit(request.path).query).get("since", [None])[0]
        with suppress(ConnectionClosed, OSError):
            for event in stream.events(last, request.headers.get("Authorization")):
                connection.send(json.dumps(event))

    def redirect(connection: ServerConnection, request: HandshakeRequest) -> Response | None:
        del request
        if stream.redirect is None:
            return None
        response = connection.respond(302, "")
        response.headers["Location"] = stream.redirect
        return response

    with serve(answer, "127.0.0.1", 0, compression=None, process_request=redirect) as server:
        stream.url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}/events?from=test"
        with running(server.serve_forever, server.shutdown), closing(stream):
            yield stream


def sse_text(event: dict[str, Any]) -> bytes:
    """An event in the text format of server-sent events, with `id` and `event` fields."""
    rest = {name: value for name, value in event.items() if name not in ("id", "type")}
    return f"id: {event['id']}\nevent: {event['type']}\ndata: {json.dumps(rest)}\n\n".encode()
