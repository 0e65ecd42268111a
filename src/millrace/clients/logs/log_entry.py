"""One request of an access log, and the page event that it becomes."""

import json
import re
from hashlib import sha256
from typing import Any, NamedTuple

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_REQUEST = re.compile(r"([A-Za-z]+) (\S.*?)(?: HTTP/\d+(?:\.\d+)?)?")
# Bytes as \xhh, of which a cut-off line may hold only a part; else a character after a backslash.
_ESCAPE = re.compile(r"((?:\\x[0-9A-Fa-f]{2})+)|\\(?:x[0-9A-Fa-f]?)?\Z|\\(.)", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "v": "\v"}
_BLANK = re.compile(r"\s")
MISSING = ("", "-")
"""What logs write for a missing value."""


class UnreadableLineError(Exception):
    """A line is not an entry of an access log; the message names the wrong part."""


class LogEntry(NamedTuple):
    """A request.

    Attributes:
        notation: name of the log's notation, as `combined log`.
        address: the client's, without port; `-` if the log has none.
        time: RFC 3339, UTC.
        target: path and query, or a whole URL.
        size: bytes of the answer's body.
        referrer, agent: empty if missing.
        host: virtual host, in lower case without port; None if the log has none.
        scheme: of the request, for a target that is no whole URL.
    """

    notation: str
    address: str
    time: str
    method: str | None
    target: str
    status: int | None = None
    size: int | None = None
    referrer: str = ""
    agent: str = ""
    user: str | None = None
    host: str | None = None
    scheme: str = "http"


def page_event(entry: LogEntry, uid: str, site: str | None) -> bytes:
    """The page event of an entry, as JSON.

    The visitor (`anonymousId`) is a hash of address and user agent; the address is not stored. All three
    times are the log's. `url` is on the entry's host, else on the site; without both it is the target alone.

    Args:
        entry: a request.
        uid: the event's UID.
        site: host of entries that name none.
    """
    page = _page(entry, site)
    event: dict[str, Any] = {
        "messageId": uid,
        "type": "page",
        "anonymousId": _visitor(entry.address, entry.agent),
        "originalTimestamp": entry.time,
        "sentAt": entry.time,
        "receivedAt": entry.time,
        "context": {"library": {"name": "millrace-access-log"}, "page": page},
        "properties": page | {"method": entry.method, "status": entry.status, "bytes": entry.size},
    }
    if entry.agent:
        event["context"]["userAgent"] = entry.agent
    if entry.user:
        event["userId"] = entry.user
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def uid_of(content: bytes, number: int) -> str:
    """A hash of line number and line, so that loading a file again adds nothing."""
    return sha256(b"%d\n" % number + content).hexdigest()[:32]


def read_request(text: str) -> tuple[str, str]:
    """Method and target of a request line.

    Raises:
        UnreadableLineError: if it has none, as requests that time out or are no HTTP.
    """
    found = _REQUEST.fullmatch(text)
    if found is None:
        raise UnreadableLineError("no method and path in the request")
    return found[1], unescape(found[2])


def read_user(text: str) -> str | None:
    """The user; None for a missing one, and for text with blanks: columns of another format."""
    return None if not text.strip("-") or _BLANK.search(text) else text


def read_number(text: str) -> int | None:
    """Digits as a number; None for other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def present(text: str) -> str:
    """Text, empty for what logs write for a missing value."""
    return "" if text in MISSING else text


def unescape(text: str) -> str:
    r"""Text of a quoted column: `\"`, `\\`, `\t` as Apache writes them, `\xhh` as nginx and Apache do."""
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def decode(content: bytes) -> str:
    """A line as text, from UTF-8, else from Latin-1. A character that is cut off at the end is left out."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.end == len(content):
            return content[: error.start].decode()
        return content.decode("latin-1")


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        sent = bytes.fromhex(found[1].replace("\\x", ""))
        try:
            return sent.decode()
        except UnicodeDecodeError:
            return sent.decode("latin-1")
    return "" if found[2] is None else _ESCAPED.get(found[2], found[0])


def _visitor(address: str, agent: str) -> str:
    # JSON may hold half of a surrogate pair, which is no UTF-8.
    return sha256(f"{address}\n{agent or '-'}".encode(errors="replace")).hexdigest()[:32]


def _page(entry: LogEntry, site: str | None) -> dict[str, str]:
    target = entry.target
    path, _, query = target.partition("?")
    host = entry.host or site
    if _ABSOLUTE.match(path):  # of a proxy or a load balancer
        path = "/" + path.split("://", 1)[1].partition("/")[2]
    elif host and target.startswith("/"):
        target = f"{entry.scheme}://{host}{target}"
    page = {"url": target, "path": path, "search": f"?{query}" if query else ""}
    return page | {"referrer": entry.referrer} if entry.referrer else page
