"""Promises of sources: no more events before a time. A lease bounds each; its end is written as a record."""

from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from functools import partial

import msgspec

from intake.log.entries import Write
from intake.log.message_log import MessageLog, OverloadedError
from intake.segment_requests import BadRequestError
from intake.sources import Source
from lakehouse.timestamps import rfc3339

END = "end"
"""A promise that the source has left."""


def read_promise(text: str | None) -> str | None:
    """A promise in the form sent to Kafka: a time in UTC, or `end`; None for none.

    Raises:
        BadRequestError: if it is neither.
    """
    if text is None or text == END:
        return text
    try:
        return rfc3339(msgspec.convert(text, datetime), "microseconds")
    except (msgspec.ValidationError, OverflowError):  # a year before 1 or after 9999 in UTC
        raise BadRequestError("the promise is neither an RFC 3339 time nor `end`") from None


class Leases:
    """Writes a record that ends the promise of each source whose lease has expired.

    Leases that an earlier process had not ended start again with their full length.

    Args:
        log: takes the records.
        lease: returns the length of a source's lease by name.
        now: time of a monotonic clock (s).
    """

    def __init__(self, log: MessageLog, lease: Callable[[str], timedelta], now: Callable[[], float]) -> None:
        self._log = log
        self._lease = lease
        self._now = now
        self._until: dict[str, float] = {}
        for source in log.held_leases:
            self._extend(source)

    def note(self, source: Source, promise: str | None) -> None:
        """Start, extend or end a source's lease by its promise."""
        if promise == END:
            self._until.pop(source.name, None)
        elif promise is not None:
            self._extend(source.name)

    def end_expired(self) -> None:
        """Log a record for each expired lease."""
        for source in [name for name, until in list(self._until.items()) if until <= self._now()]:
            try:
                written = self._log.append(Write(source=source, promise=END))
            except OverloadedError:
                return  # the next call tries again
            del self._until[source]
            written.add_done_callback(partial(self._retry, source))

    def _retry(self, source: str, written: "Future[None]") -> None:
        """End the lease again at the next call, if its end could not be written."""
        if written.exception() is not None:
            self._until.setdefault(source, self._now())

    def _extend(self, source: str) -> None:
        self._until[source] = self._now() + self._lease(source).total_seconds()
