"""Timestamps in Python and Spark: UTC datetimes with whole microseconds."""

from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LAST = datetime.max.replace(tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970-01-01T00:00:00Z. A datetime without an offset counts as UTC."""
    return (as_utc(instant) - EPOCH) // _MICROSECOND


def from_micros(micros: object) -> datetime:
    """The timestamp so many microseconds after 1970-01-01T00:00:00Z."""
    return EPOCH + int(str(micros)) * _MICROSECOND


def as_utc(instant: datetime) -> datetime:
    """The timestamp with UTC as its zone: Spark returns UTC without a zone."""
    return instant.replace(tzinfo=timezone.utc) if instant.tzinfo is None else instant
