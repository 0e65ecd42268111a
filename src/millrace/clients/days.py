"""Days as files write them."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime


def parse_day(text: str, formats: Sequence[str]) -> date | None:
    """A day in the first of the formats (`strptime`) that fits; None if none does."""
    for day_format in formats:
        with suppress(ValueError):
            return datetime.strptime(text, day_format).date()  # noqa: DTZ007 - a day has no zone
    return None
