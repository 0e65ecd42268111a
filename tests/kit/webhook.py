"""A local alert receiver that can reject the first requests."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kit.http_server import Request, serving


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

    def respond(request: Request) -> None:
        receiver.bodies.append(request.body())
        receiver.headers.append(dict(request.headers))
        refused, receiver.refusing = receiver.refusing > 0, max(receiver.refusing - 1, 0)
        request.send_response(receiver.code if refused else 204)
        request.end_headers()

    with serving(respond) as receiver.port:
        yield receiver
