"""An HTTP server with scripted responses; each response ends its connection."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kit.http_server import Request, serving

Answer = Callable[[str | None, str], tuple[int, bytes]]
"""Returns status and body for a Last-Event-ID header and a path."""


@contextmanager
def scripted_server(answer: Answer) -> Iterator[str]:
    """Serve until the block ends. Yields the URL."""

    def respond(request: Request) -> None:
        status, body = answer(request.headers.get("Last-Event-ID"), request.path)
        request.send_response(status)
        request.send_header("Content-Type", "text/event-stream" if status == 200 else "application/json")
        request.end_headers()
        request.wfile.write(body)

    with serving(respond) as port:
        yield f"http://127.0.0.1:{port}"


def event(kind: str, content: Mapping[str, Any], position: str | None = None) -> bytes:
    """A message as the streaming API sends it."""
    data = {"type": kind, **content, **({} if position is None else {"position": position})}
    number = "" if position is None else f"id: {position}\n"
    return f"event: {kind}\n{number}data: {json.dumps(data)}\n\n".encode()


def reset(key: list[str]) -> bytes:
    """A reset message: all rows follow."""
    return event("reset", {"key": key, "versions": {"gold.funnel": 0}})


def rows(found: list[Mapping[str, Any]], position: str | None = None) -> bytes:
    """A message with rows of a snapshot."""
    return event("rows", {"rows": found, "versions": {"gold.funnel": 0}}, position)


def changes(found: list[tuple[Any, Any]], position: str | None = None) -> bytes:
    """A message with changes, each a pair of old and new row."""
    return event(
        "changes",
        {
            "changes": [
                {
                    "change": "insert" if before is None else "delete" if after is None else "update",
                    "before": before,
                    "after": after,
                }
                for before, after in found
            ],
            "versions": {"gold.funnel": 1},
            "committed_at": "2026-11-02T10:00:00Z",
        },
        position,
    )


def heartbeat(position: str) -> bytes:
    """A heartbeat message, sent when nothing has changed."""
    return event("heartbeat", {"versions": {"gold.funnel": 1}, "at": "2026-11-02T10:00:00Z"}, position)
