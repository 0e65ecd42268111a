"""Instants as Python and Spark exchange them: aware UTC datetimes, whole microseconds."""

from datetime import datetime, timedelta, timezone

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LAST = datetime.max.replace(tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(instant: datetime) -> int:
    """Microseconds since 1970-01-01T00:00:00Z. A datetime without an offset counts as UTC."""
    return (as_utc(instant) - EPOCH) // _MICROSECOND


def from_micros(micros: object) -> datetime:
    """The instant so many microseconds after 1970-01-01T00:00:00Z."""
    return EPOCH + int(str(micros)) * _MICROSECOND


def as_utc(instant: datetime) -> datetime:
    """The same instant with its offset: Spark hands out UTC without one."""
    return instant.replace(tzinfo=timezone.utc) if instant.tzinfo is None else instant
