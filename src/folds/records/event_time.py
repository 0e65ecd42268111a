"""Arrival time and event time of a record, in microseconds since 1970."""

import re
from datetime import date
from functools import lru_cache

SECOND = 1_000_000
_MINUTE = 60 * SECOND
_DAY = 24 * 60 * _MINUTE
_DAYS_TO_1970 = date(1970, 1, 1).toordinal()
_FIRST, _END = 0, 253_402_300_800 * SECOND  # years 1970 to 9999
_HEAD_LENGTH = len("2026-03-01T12:00")
_HEAD = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_TAIL = re.compile(
    r"(?::([0-5]\d)(?:[.,](\d+))?)?"
    r"(?: ?(?::?[Zz]|[Uu][Tt][Cc]|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?))?",
    re.ASCII,
)
_UNIX = re.compile(r"(\d{10})(?:\.(\d+))?|(\d{13})|(\d{16})", re.ASCII)  # s, ms, µs
_MAX_CACHED = len(":00.123456+02:00")

CORRECTED, TIMESTAMP, ORIGINAL, ARRIVAL = "corrected", "timestamp", "original", "arrival"
"""Values of `time_source`: which of a record's times the event time is."""

MAX_AHEAD = 5 * 60 * SECOND
"""An event time further after arrival than this is the time of a clock that runs ahead."""

EARLIEST = -11_676_096_000 * SECOND  # year 1600: before 1582, engines differ by days


def parse_time(text: str | None) -> int | None:
    """Parse a time; None for any other text.

    A time is RFC 3339, also with a blank for `T`, in lower case, with a comma before the fraction, without
    seconds, or with an offset as `+02`, `+0200`, `UTC` or `:Z`, which a blank may precede; or Unix time of 10
    digits (s, with or without a fraction), 13 (ms) or 16 (µs). Without an offset, the time is in UTC. Digits
    beyond microseconds are dropped. Years are 1970 to 9999.
    """
    if text is None:
        return None
    if text[4:5] != "-":
        return _parse_unix(text)
    tail = text[_HEAD_LENGTH:]
    minute = _parse_head(text[:_HEAD_LENGTH])
    rest = _parse_tail(tail) if len(tail) <= _MAX_CACHED else _parse_tail.__wrapped__(tail)
    if minute is None or rest is None:
        return None
    at = minute + rest
    return at if _FIRST <= at < _END else None


def record_time(timestamp: int, ingested: int) -> int:
    """Kafka's timestamp if it is of the years 1970 to 9999, else the time of ingest.

    Producers set it, and may send microseconds as milliseconds: that is after the year 50,000.

    Args:
        timestamp: of the record, as bronze has it.
        ingested: the record's ingest stamp.
    """
    return timestamp if _FIRST <= timestamp < _END else ingested


def arrival_time(received: int | None, record: int) -> int:
    """The server's time if it is at most a day ahead of Kafka's timestamp, else Kafka's timestamp."""
    return received if received is not None and received <= record + _DAY else record


def event_time(
    arrival: int, sent: int | None, original: int | None, timestamp: int | None
) -> tuple[int, str]:
    """Correct the device's clock: arrival time minus the time between event and sending on the device.

    This follows the Segment spec's `timestamp`. If the device sent the event before it happened, its clock
    was set back in between, and none of its times is used. A corrected time before 1600 is not used, nor is
    a time more than `MAX_AHEAD` after arrival.

    Returns:
        The event time, and its source.
    """
    if sent is not None and original is not None:
        if sent < original:
            return arrival, ARRIVAL
        corrected = arrival - (sent - original)
        if corrected >= EARLIEST:
            return corrected, CORRECTED
    at, source = (original, ORIGINAL) if timestamp is None else (timestamp, TIMESTAMP)
    return (arrival, ARRIVAL) if at is None or at > arrival + MAX_AHEAD else (at, source)


@lru_cache(maxsize=65_536)
def _parse_head(head: str) -> int | None:
    """Parse the text up to the minute; cached, because events that arrive together share it."""
    found = _HEAD.fullmatch(head)
    if found is None:
        return None
    year, month, day, hour, minute = map(int, found.groups())
    try:
        days = date(year, month, day).toordinal() - _DAYS_TO_1970
    except ValueError:
        return None
    return days * _DAY + (hour * 60 + minute) * _MINUTE


@lru_cache(maxsize=65_536)
def _parse_tail(tail: str) -> int | None:
    """Parse seconds, fraction and offset."""
    found = _TAIL.fullmatch(tail)
    if found is None:
        return None
    second, fraction, sign, hours, minutes = found.groups()
    at = int(second or 0) * SECOND + _micros(fraction)
    if sign is None:
        return at
    offset = (int(hours) * 60 + int(minutes or 0)) * _MINUTE
    return at + offset if sign == "-" else at - offset


def _parse_unix(text: str) -> int | None:
    """Parse Unix time by its number of digits: all are within the years that are allowed."""
    found = _UNIX.fullmatch(text)
    if found is None:
        return None
    seconds, fraction, milliseconds, micros = found.groups()
    if seconds is not None:
        return int(seconds) * SECOND + _micros(fraction)
    return int(micros) if milliseconds is None else int(milliseconds) * 1_000


def _micros(fraction: str | None) -> int:
    return int((fraction or "").ljust(6, "0")[:6])
