"""Test oracle for times: notations, arrival, event time and its source.

Shares no code with `src/`.
"""

import re
from datetime import datetime, timedelta, timezone
from typing import Any

SECOND = 1_000_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_YEAR_1600 = -135_140 * DAY
_TIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<hour>\d\d):(?P<minute>\d\d)"
    r"(:(?P<second>\d\d)([.,](?P<fraction>\d+))?)?"
    r"( ?(?P<zone>Z|:Z|UTC|[+-]\d\d(:?\d\d)?))?",
    re.ASCII | re.IGNORECASE,
)
_FIELDS = ("originalTimestamp", "sentAt", "timestamp", "receivedAt")


def micros(at: datetime) -> int:
    """Microseconds since 1970."""
    return (at.astimezone(timezone.utc) - _EPOCH) // timedelta(microseconds=1)


def parse_time(text: str | None) -> int | None:
    """A time in microseconds since 1970; None if invalid or outside 1970 to 9999."""
    at = _unix(text or "")
    if at is None:
        at = _written(text or "")
    return at if at is not None and 0 <= at < 2_932_897 * DAY else None  # days to 10000-01-01


def _unix(text: str) -> int | None:
    whole, point, fraction = text.partition(".")
    if (
        not whole.isascii()
        or not whole.isdigit()
        or (point and not (fraction.isascii() and fraction.isdigit()))
    ):
        return None
    if point and len(whole) != 10:
        return None
    scale = {10: 10**6, 13: 1000, 16: 1}.get(len(whole))
    return None if scale is None else int(whole) * scale + int(f"{fraction}000000"[:6])


def _written(text: str) -> int | None:
    found = _TIME.fullmatch(text)
    if not found:
        return None
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    digits = re.sub(r"\D", "", found["zone"] or "").ljust(4, "0")
    if hour > 23 or minute > 59 or second > 59 or int(digits[:2]) > 23 or int(digits[2:]) > 59:
        return None
    try:
        day = datetime.strptime(found["date"], "%Y-%m-%d").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    at = (
        micros(day)
        + (hour * 60 + minute) * MINUTE
        + second * 10**6
        + int(f"{found['fraction'] or ''}000000"[:6])
    )
    offset = (int(digits[:2]) * 60 + int(digits[2:])) * MINUTE
    return at + offset if "-" in (found["zone"] or "") else at - offset


def record_time(kafka: datetime, ingested_at: datetime) -> int:
    """A Kafka record's timestamp in microseconds; the time of ingest, if it is before 1970."""
    return micros(ingested_at if kafka < _EPOCH else kafka)


def times_of(sent: dict[str, str | None], kafka: int) -> dict[str, Any]:
    """The columns of silver.events with times.

    Args:
        sent: the four times of a message as text.
        kafka: the Kafka record's time.
    """
    original, sent_at, timestamp, received = (parse_time(sent[name]) for name in _FIELDS)
    arrival = received if received is not None and received <= kafka + DAY else kafka
    at, source = _event_time(arrival, original, sent_at, timestamp)
    if at > arrival + 5 * MINUTE:
        at, source = arrival, "arrival"
    unread = [
        text for text in (sent[name] for name in _FIELDS) if (text or "").strip() and parse_time(text) is None
    ]
    return {
        "event_time": at,
        "time_source": source,
        "device_time": original,
        "arrival_time": arrival,
        "unread_time": unread[0][:64] if unread and unread[0] else None,
    }


def _event_time(
    arrival: int, original: int | None, sent: int | None, timestamp: int | None
) -> tuple[int, str]:
    both = original is not None and sent is not None
    if both and sent < original:  # type: ignore[operator]
        return arrival, "arrival"
    if both and arrival - (sent - original) >= _YEAR_1600:  # type: ignore[operator]
        return arrival - (sent - original), "corrected"  # type: ignore[operator]
    if timestamp is not None:
        return timestamp, "timestamp"
    return (arrival, "arrival") if original is None else (original, "original")
