"""HTTP requests with JSON that ignore proxy settings of the environment."""

import json
import urllib.error
import urllib.request
from typing import Any

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def request(url: str, method: str = "GET", content: Any = None) -> tuple[int, Any]:
    """Status and JSON of a response; None for an empty body."""
    data = None if content is None else json.dumps(content).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with _OPENER.open(asked, timeout=30) as answer:
            body, status = answer.read(), answer.status
    except urllib.error.HTTPError as error:
        body, status = error.read(), error.code
    return status, json.loads(body) if body else None


def json_lines(url: str) -> list[Any]:
    """The JSON objects of a response, one per line."""
    with _OPENER.open(url, timeout=30) as answer:
        return [json.loads(line) for line in answer.read().splitlines()]
