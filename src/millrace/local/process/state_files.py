"""Small JSON files that processes of a workspace share."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from lakehouse.files import replace_file
from lakehouse.timestamps import rfc3339


def write_state(path: Path, content: dict[str, Any], mode: int = 0o666) -> None:
    """Write a file atomically, with at most these file permissions."""
    replace_file(path, json.dumps(content, indent=2), durable=False, mode=mode)


def read_state(path: Path) -> dict[str, Any]:
    """Content of a state file; empty if it is missing or not a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def one_line(content: dict[str, Any]) -> str:
    """A JSON object in one line: times as RFC 3339, other types that JSON lacks as text."""
    return json.dumps(content, default=_as_text)


def _as_text(value: object) -> str:
    return rfc3339(value) if isinstance(value, datetime) else str(value)
