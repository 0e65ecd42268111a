"""A local alert receiver that can reject the first requests."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """Received bodies and headers, and how many requests to reject, with which status code."""

    port: int = 0
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    refusing: int = 0
    code: int = 503

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts"

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body in self.bodies]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Listen on a free port until the block ends."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.bodies.append(body)
            receiver.headers.append(dict(self.headers))
            refused, receiver.refusing = receiver.refusing > 0, max(receiver.refusing - 1, 0)
            self.send_response(receiver.code if refused else 204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
