"""Access logs in JSON, one object a line: values by the paths of conf/log_formats.yml."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from millrace.clients.logs.log_address import client_address, read_host
from millrace.clients.logs.log_entry import (
    LogEntry,
    UnreadableLineError,
    present,
    read_number,
    read_request,
    read_user,
    unescape,
)
from millrace.clients.logs.log_formats_file import FILE, JsonFields
from millrace.clients.logs.log_time import log_time

# nginx without `escape=json` writes bytes as \xhh, which is no JSON.
_HEX = re.compile(r"(\\\\)|(?:\\x[0-9A-Fa-f]{2})+")
_SEGMENT_KEYS = ("messageId", "anonymousId", "userId")
_HTTPS = ("https", "wss", "on")


def read_object(text: str) -> dict[str, Any] | None:
    """A line as JSON object, numbers with their text; None if it is none."""
    try:
        found = json.loads(text, parse_float=str)
    except (ValueError, RecursionError):
        if "\\x" not in text:
            return None
        try:
            found = json.loads(_HEX.sub(_as_json, text), parse_float=str)
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def is_segment_event(line: Mapping[str, Any]) -> bool:
    """Whether an object is an event of Segment's specification."""
    return "type" in line and any(key in line for key in _SEGMENT_KEYS)


def json_entry(line: Mapping[str, Any], logs: Mapping[str, JsonFields]) -> LogEntry:
    """The entry of an object, by the first log whose fields it has: address, time and request.

    Raises:
        UnreadableLineError: if it has those of none, or a value is not valid.
    """
    if is_segment_event(line):
        raise UnreadableLineError("a Segment event: use --format segment")
    for name, fields in logs.items():
        address, forwarded = _value(line, fields.address), _value(line, fields.forwarded)
        time, request = _value(line, fields.time), _value(line, fields.request)
        target = _value(line, fields.target)
        if (address or forwarded) and time and (request or target):
            return _entry(line, fields, name, (client_address(address, forwarded), time, request, target))
    raise UnreadableLineError(f"JSON without the fields of any log in conf/{FILE}")


def _entry(
    line: Mapping[str, Any], fields: JsonFields, name: str, found: tuple[str, str, str, str]
) -> LogEntry:
    address, time, request, target = found
    method: str | None = _value(line, fields.method) or None
    if not target:
        method, target = read_request(request)
    query = _value(line, fields.query).removeprefix("?")
    host = read_host(_value(line, fields.host))
    is_secure = _value(line, fields.scheme).lower() in _HTTPS or _value(line, fields.tls)
    return LogEntry(
        notation=f"JSON log of {name}",
        address=address,
        time=log_time(time),
        method=method,
        target=f"{target}?{query}" if query and "?" not in target else target,
        status=read_number(_value(line, fields.status)),
        size=read_number(_value(line, fields.size)),
        referrer=_value(line, fields.referrer),
        agent=_value(line, fields.agent),
        user=read_user(_value(line, fields.user)),
        host=host[0] if host else None,
        scheme="https" if is_secure or (host and host[1] == "https") else "http",
    )


def _value(line: Mapping[str, Any], paths: Sequence[str]) -> str:
    """The first value that is there, as text; empty if there is none. Of a list it is the first."""
    for path in paths:
        found = _find(line, path)
        if isinstance(found, list):
            found = found[0] if found else None
        if isinstance(found, dict):
            found = "{}" if found else None
        text = "" if found is None or found is False else present(str(found))
        if text:
            return text
    return ""


def _find(value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    key, _, rest = path.partition(".")
    return _find(value.get(key), rest) if rest else None


def _as_json(found: re.Match[str]) -> str:
    return found[0] if found[1] else json.dumps(unescape(found[0]))[1:-1]
