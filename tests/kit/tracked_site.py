"""A site with the tracker; no collector."""

import json
import queue
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import intake.browser
from kit.http_server import Request, serving

_TRACKER = Path(intake.browser.__file__).with_name("millrace.js").read_bytes()
_PAGE = """<!doctype html><title>Home</title>
<script>
  addEventListener("pageshow", ({{ persisted }}) => {{ if (persisted) document.title = "Restored"; }});
</script>
<script src="/millrace.js" data-write-key="key" {attributes} defer></script>"""


@contextmanager
def tracked_site(attributes: str = "") -> Iterator[tuple[str, "queue.Queue[dict[str, Any]]"]]:
    """A site that serves the same page at every path. Yields its URL, and the messages that come.

    Args:
        attributes: of the tracker's script.
    """
    page = _PAGE.format(attributes=attributes).encode()
    messages: queue.Queue[dict[str, Any]] = queue.Queue()

    def respond(request: Request) -> None:
        if request.command == "POST":
            for message in json.loads(request.body())["batch"]:
                messages.put(message)
            request.answer(200, b"{}", "application/json")
        elif request.path == "/millrace.js":
            request.answer(200, _TRACKER, "text/javascript")
        else:
            request.answer(200, page, "text/html")

    with serving(respond) as port:
        yield f"http://localhost:{port}/", messages
