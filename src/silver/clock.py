"""The clock rule: when a record arrived, and when its event happened."""

from pyspark.sql import Column
from pyspark.sql import functions as F

_DAY = 24 * 3600 * 1_000_000
_RFC3339 = r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?\z"
_FAR_OFFSET = r"[+-](?:1[89]|2[0-3]):[0-5]\d\z"  # beyond what Spark's own cast takes
_FIRST, _END = 0, 253_402_300_800_000_000  # 1970 up to and without 10000, microseconds
_EARLIEST = -11_676_096_000_000_000  # 1600: before 1582 engines disagree by days what day it was


def parse_instant(text: Column) -> Column:
    """RFC 3339 text as microseconds since the epoch; null for anything else.

    Without an offset it is UTC; beyond microseconds it is cut; years 1970 to 9999.
    """
    return within_years(read_instant(text))


def read_instant(text: Column) -> Column:
    """The same before years are looked at. Most texts are read at the first try."""
    near = F.unix_micros(text.try_cast("timestamp"))
    upper = F.upper(text)
    lower = F.unix_micros(upper.try_cast("timestamp"))
    local = F.unix_micros(F.regexp_replace(upper, _FAR_OFFSET, "Z").try_cast("timestamp"))
    far = F.when(text.rlike(_FAR_OFFSET), local - _offset(text))
    return F.when(text.rlike(_RFC3339), F.coalesce(near, lower, far))


def within_years(micros: Column) -> Column:
    """Microseconds since the epoch, null before 1970 and from 10000 on."""
    return F.when((micros >= _FIRST) & (micros < _END), micros)


def arrival_time(received: Column, record: Column) -> Column:
    """Server's clock if it is at most a day ahead of Kafka's, else Kafka's. All in microseconds."""
    return F.when(received <= record + _DAY, received).otherwise(record)


def event_time(arrival: Column, sent: Column, original: Column, timestamp: Column) -> Column:
    """Three-timestamp correction: arrival less what passed on the device before it was sent.

    After the Segment spec's `timestamp`. Where the correction would go back beyond 1600 it is not
    used. All in microseconds; `arrival` is never null.
    """
    corrected = arrival - (sent - original)
    usable = (sent >= original) & (corrected >= _EARLIEST)
    return F.coalesce(F.when(usable, corrected), timestamp, original, arrival)


def _offset(text: Column) -> Column:
    hours, minutes = F.substring(text, -5, 2).cast("bigint"), F.substring(text, -2, 2).cast("bigint")
    sign = F.when(F.substring(text, -6, 1) == "-", -1).otherwise(1)
    return sign * (hours * 60 + minutes) * 60_000_000
