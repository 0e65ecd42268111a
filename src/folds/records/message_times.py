"""Reads the times of a message, and corrects the device's clock."""

from folds.records.event_time import arrival_time, event_time, parse_time
from folds.records.json_text import text
from folds.records.message import Message

_MAX_SHOWN = 64  # characters


Times = tuple[int, str, int | None, int, str | None]
"""The columns `event_time`, `time_source`, `device_time`, `arrival_time` and `unread_time` of an event.

A plain tuple, because each record has one.
"""


def read_times(message: Message, stamp: int) -> Times:
    """The times of a message. `unread_time` is the first that was sent and does not parse, cut if it is long.

    Args:
        message: its times may be of any type.
        stamp: Kafka timestamp of the record, in microseconds since 1970.
    """
    original_text, sent_text = text(message.original_timestamp), text(message.sent_at)
    received_text, timestamp_text = text(message.received_at), text(message.timestamp)
    original, sent = parse_time(original_text), parse_time(sent_text)
    received, timestamp = parse_time(received_text), parse_time(timestamp_text)
    unread = None
    if original is None and original_text:
        unread = _shown(original_text)
    if sent is None and sent_text:
        unread = unread or _shown(sent_text)
    if timestamp is None and timestamp_text:
        unread = unread or _shown(timestamp_text)
    if received is None and received_text:
        unread = unread or _shown(received_text)
    arrival = arrival_time(received, stamp)
    at, source = event_time(arrival, sent, original, timestamp)
    return at, source, original, arrival, unread


def _shown(sent: str) -> str | None:
    """A time as sent, cut; None for blank text, which counts as not sent."""
    return sent[:_MAX_SHOWN] if sent.strip() else None
