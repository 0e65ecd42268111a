"""Timestamps in Python and Spark: UTC datetimes with whole microseconds."""

from datetime import datetime, timedelta, timezone
from typing import Literal

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FIRST = datetime.min.replace(tzinfo=timezone.utc)
LAST = datetime.max.replace(tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970-01-01T00:00:00Z. A datetime without an offset counts as UTC."""
    return (as_utc(instant) - EPOCH) // _MICROSECOND


def span_micros(span: timedelta) -> int:
    """Microseconds of a duration."""
    return span // _MICROSECOND


def from_micros(micros: object) -> datetime:
    """The timestamp so many microseconds after 1970-01-01T00:00:00Z."""
    return EPOCH + int(str(micros)) * _MICROSECOND


def as_utc(instant: datetime) -> datetime:
    """The timestamp with UTC as its zone: Spark returns UTC without a zone."""
    return instant.replace(tzinfo=timezone.utc) if instant.tzinfo is None else instant


def rfc3339(instant: datetime, precision: Literal["auto", "milliseconds", "microseconds"] = "auto") -> str:
    """A timestamp as RFC 3339 in UTC, as `2026-11-01T12:00:00Z`. A datetime without an offset counts as UTC.

    Args:
        instant: the timestamp.
        precision: of the seconds; `auto`: microseconds where there are any.
    """
    return as_utc(instant).astimezone(timezone.utc).isoformat(timespec=precision).replace("+00:00", "Z")


def now_rfc3339() -> str:
    """The current time as RFC 3339 in UTC, to the millisecond."""
    return rfc3339(datetime.now(timezone.utc), "milliseconds")
