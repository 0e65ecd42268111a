"""Parses records in which a producer promises to send no event from before a time."""

from folds.records.event_time import parse_time
from folds.records.outcomes import Promise, Record
from folds.watermark import producer_of

MAX_SOURCE = 256  # code points
END = b"end"
"""Value of the header `promise` of a producer that has left."""


def parse_promise(record: Record) -> Promise | None:
    """Parse a record without a value by its headers `source` and `promise`; the first of each name counts.

    Returns:
        None if the value is not null, or if one of the two headers is missing or malformed.
    """
    if record.value is not None:
        return None
    headers = dict(reversed(record.headers))
    source, promised = _source(headers.get("source")), headers.get("promise")
    if source is None or promised is None:
        return None
    if promised == END:
        return Promise(source, None)
    at = parse_time(promised.decode(errors="replace"))
    return None if at is None else Promise(source, at)


def _source(sent: bytes | None) -> str | None:
    """The source as text; None if it is not UTF-8, is too long, or names no producer."""
    try:
        source = sent.decode() if sent else ""
    except UnicodeDecodeError:
        return None
    return source if producer_of(source) and len(source) <= MAX_SOURCE else None
