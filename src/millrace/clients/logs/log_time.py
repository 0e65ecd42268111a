"""Times of access logs: Apache's notation, RFC 3339 and its relatives, and Unix time."""

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from folds.records.event_time import parse_time
from lakehouse.timestamps import EPOCH, from_micros, rfc3339
from millrace.clients.logs.log_entry import UnreadableLineError

_MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
_APACHE = re.compile(
    r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?: ([+-])(\d\d):?(\d\d))?", re.ASCII
)
_ISO = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d+))? ?(?:([+-]\d\d):?(\d\d)|[Zz]?)", re.ASCII
)
_UNIX = re.compile(r"(\d{9,10})(?:\.(\d+))?|(\d{13}|\d{16}|\d{19})", re.ASCII)
_DIGITS_OF_SECONDS = 10


@lru_cache(maxsize=4_096)
def log_time(text: str) -> str:
    """A time as RFC 3339 in UTC; without an offset it is UTC.

    Args:
        text: `17/May/2015:12:05:03 +0200`; `2015-05-17T12:05:03+02:00`, also with a blank for `T` and slashes
            in the date; or Unix time in seconds (10 digits, maybe with a fraction), milliseconds (13),
            microseconds (16) or nanoseconds (19).

    Raises:
        UnreadableLineError: if it is no time, or before 1970.
    """
    if found := _APACHE.fullmatch(text):
        return _of_apache(found)
    if found := _ISO.fullmatch(text):
        return _of_iso(found)
    if found := _UNIX.fullmatch(text):
        seconds, fraction, digits = found.groups()
        if digits:
            seconds, fraction = digits[:_DIGITS_OF_SECONDS], digits[_DIGITS_OF_SECONDS:]
        return rfc3339(from_micros(int(seconds) * 1_000_000 + _micros(fraction)))
    raise UnreadableLineError("no time of the form 17/May/2015:10:05:03 +0000")


def _of_apache(found: re.Match[str]) -> str:
    text = found[0]
    if found[2] not in _MONTHS:
        raise UnreadableLineError("no time of the form 17/May/2015:10:05:03 +0000")
    try:
        day, hour, minute, second = map(int, found.group(1, 4, 5, 6))
        local = datetime(int(found[3]), _MONTHS[found[2]], day, hour, minute, second, tzinfo=timezone.utc)
        ahead = timedelta(hours=int(found[9] or 0), minutes=int(found[10] or 0))
        moment = local + ahead if found[8] == "-" else local - ahead
    except (ValueError, OverflowError):
        raise UnreadableLineError(f"no such time: {text}") from None
    if moment < EPOCH:
        raise UnreadableLineError(f"before 1970: {text}")
    return rfc3339(moment + timedelta(microseconds=_micros(found[7])))


def _of_iso(found: re.Match[str]) -> str:
    year, month, day, time, fraction, hours, minutes = found.groups()
    offset = f"{hours}:{minutes}" if hours else "Z"
    at = parse_time(f"{year}-{month}-{day}T{time}.{(fraction or '0')[:6]}{offset}")
    if at is None:
        raise UnreadableLineError(f"no such time: {found[0]}")
    return rfc3339(from_micros(at))


def _micros(fraction: str | None) -> int:
    return int((fraction or "").ljust(6, "0")[:6])
