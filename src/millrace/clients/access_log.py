"""A web server's access log (Apache combined format), each line as a Segment page event."""

import json
import re
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from typing import Any

from lakehouse.timestamps import rfc3339

# Quoted fields hold \" for a quote. A line cut off in its last field, the user agent, has no
# closing quote; whatever follows the user agent (some servers add fields) is not looked at.
_QUOTED = r'"((?:[^"\\]|\\.)*)'
_LINE = re.compile(
    r"(?P<address>\S+) \S+ (?P<user>.+?) \[(?P<time>[^\]\[]{0,40})\] "
    + _QUOTED.replace("(", "(?P<request>", 1)
    + r'" (?P<status>\d{3}) (?P<bytes>\d+|-) '
    + _QUOTED.replace("(", "(?P<referrer>", 1)
    + '" '
    + _QUOTED.replace("(", "(?P<agent>", 1)
    + r'(?:"(?:\s.*)?|\\?)$',
    re.DOTALL,
)
_TIME = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)")
_REQUEST = re.compile(r"([A-Za-z]+) (\S.*?)(?: HTTP/\d+(?:\.\d+)?)?")
_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}


class UnreadableLineError(Exception):
    """A line is not an entry of an access log; the message names the wrong part."""


def page_event(raw: bytes, number: int, site: str | None) -> bytes:
    """The page event of one line.

    The visitor (`anonymousId`) is a hash of address and user agent; the address is not stored.
    `messageId` is a hash of line number and line, so that loading a file again adds nothing. All
    three times are the log's, in UTC. The log contains no host: with a site, `url` is
    `http://<site><target>`, else only the target.

    Args:
        raw: the line, with or without its line end, in UTF-8, else in Latin-1.
        number: number of the line in its file, from 1.
        site: host that the log belongs to.

    Raises:
        UnreadableLineError: if it is not in combined format (a cut-off user agent is accepted).
    """
    raw = raw.rstrip(b"\r\n")
    found = _LINE.match(_decode(raw))
    if found is None:
        raise UnreadableLineError("not in combined format")
    time, (method, target) = _utc(found["time"]), _request(found["request"])
    agent, referrer = _unescape(found["agent"]), _unescape(found["referrer"])
    page = _page(target, referrer, site)
    size = found["bytes"]
    event: dict[str, Any] = {
        "messageId": sha256(b"%d\n" % number + raw).hexdigest()[:32],
        "type": "page",
        "anonymousId": _visitor(found["address"], agent),
        "originalTimestamp": time,
        "sentAt": time,
        "receivedAt": time,
        "context": {"library": {"name": "millrace-access-log"}, "page": page},
        "properties": page
        | {"method": method, "status": int(found["status"]), "bytes": None if size == "-" else int(size)},
    }
    if agent not in ("-", ""):
        event["context"]["userAgent"] = agent
    if found["user"] not in ("-", '""'):
        event["userId"] = found["user"]
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def is_entry(raw: bytes) -> bool:
    """Whether a line looks like an entry of an access log."""
    return _LINE.match(_decode(raw.rstrip(b"\r\n"))) is not None


def referrer_and_path(raw: bytes) -> tuple[str, str] | None:
    """Referrer and requested path of a line, to infer which site a log belongs to."""
    found = _LINE.match(_decode(raw.rstrip(b"\r\n")))
    if found is None or " " not in found["request"]:
        return None
    return found["referrer"], found["request"].split(" ")[1].partition("?")[0]


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _unescape(text: str) -> str:
    return text.replace('\\"', '"').replace("\\\\", "\\") if "\\" in text else text


def _visitor(address: str, agent: str) -> str:
    return sha256(f"{address}\n{agent}".encode()).hexdigest()[:32]


def _request(text: str) -> tuple[str, str]:
    found = _REQUEST.fullmatch(text)
    if found is None:
        raise UnreadableLineError("no method and path in the request")
    return found[1], _unescape(found[2])


def _utc(text: str) -> str:
    """`17/May/2015:12:05:03 +0200` as `2015-05-17T10:05:03Z`."""
    found = _TIME.fullmatch(text)
    if found is None or found[2] not in _MONTHS:
        raise UnreadableLineError("no time of the form 17/May/2015:10:05:03 +0000")
    try:
        day, hour, minute, second = map(int, found.group(1, 4, 5, 6))
        local = datetime(int(found[3]), _MONTHS[found[2]], day, hour, minute, second, tzinfo=timezone.utc)
        ahead = timedelta(hours=int(found[8]), minutes=int(found[9]))
        moment = local - ahead if found[7] == "+" else local + ahead
    except (ValueError, OverflowError):
        raise UnreadableLineError(f"no such time: {text}") from None
    if moment.year < 1970:
        raise UnreadableLineError(f"before 1970: {text}")
    return rfc3339(moment)


def _page(target: str, referrer: str, site: str | None) -> dict[str, str]:
    path, _, query = target.partition("?")
    page = {"path": path, "search": f"?{query}" if query else ""}
    if "://" in path:  # a proxy request has the whole URL
        page = {"url": target} | page | {"path": "/" + path.split("://", 1)[1].partition("/")[2]}
    else:
        page = {"url": f"http://{site}{target}" if site else target} | page
    return page if referrer in ("-", "") else page | {"referrer": referrer}
