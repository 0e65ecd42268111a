"""HTTP servers on this machine that run until a block ends."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Request(BaseHTTPRequestHandler):
    """A request, with the means to answer it."""

    def body(self) -> bytes:
        """The body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, body: bytes, kind: str) -> None:
        """Send a response with a content type."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *args: Any) -> None:
        """Do not log clients that disconnected."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(*args)


@contextmanager
def serving(respond: Callable[[Request], None], port: int = 0) -> Iterator[int]:
    """Respond to requests of all methods until the block ends. Yields the port; port 0 selects a free one."""

    class Handler(Request):
        def _respond(self) -> None:
            respond(self)

        do_GET = do_POST = do_PUT = _respond  # noqa: N815 - names of the base class

    server = _Server(("127.0.0.1", port), Handler)
    with server, running(partial(server.serve_forever, 0.02), server.shutdown):
        yield server.server_port


@contextmanager
def running(serve: Callable[[], None], shut_down: Callable[[], None]) -> Iterator[None]:
    """Run a server in a thread until the block ends."""
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        shut_down()
        thread.join()


@contextmanager
def site(html: str) -> Iterator[str]:
    """A site with its own origin that serves the same HTML at every path. Yields its URL."""
    with serving(lambda request: request.answer(200, html.encode(), "text/html")) as port:
        yield f"http://localhost:{port}"
