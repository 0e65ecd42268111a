"""Converts Quartz expressions to triggers of APScheduler."""

import re

from apscheduler.triggers.cron import CronTrigger

from lakehouse.errors import MillraceError

_FIELDS = ("second", "minute", "hour", "day", "month", "day_of_week", "year")
_LAST = {"second": 59, "minute": 59, "hour": 23, "day": 31, "month": 12, "day_of_week": 7, "year": 2099}
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WHICH = ("1st", "2nd", "3rd", "4th", "5th")


def quartz_trigger(expression: str, time_zone: str) -> CronTrigger:
    """The trigger of an expression.

    Fields: seconds, minutes, hours, days of the month, months, days of the week (1 is Sunday), and optionally
    years; one of the two day fields is `?`. Supports lists, ranges, steps, `L` and `#`, but not `W`.

    Raises:
        MillraceError: if the expression or the time zone is not valid.
    """
    parts = expression.split()
    if len(parts) not in (6, 7) or (parts[3] == "?") == (parts[5] == "?"):
        raise _wrong(expression, "it takes six or seven fields, one of the two kinds of days being ?")
    fields = dict(zip(_FIELDS, parts, strict=False))
    days, weekdays = fields.pop("day"), fields.pop("day_of_week")
    try:
        read = {name: _times(name, field_text) for name, field_text in fields.items()}
        if days != "?":
            read["day"] = "last" if days == "L" else _times("day", days)
        elif re.search(r"[#L]", weekdays):
            read["day"] = _nth_weekday(weekdays)
        else:
            read["day_of_week"] = _times("day_of_week", weekdays)
        return CronTrigger(**read, timezone=time_zone)
    except (ValueError, KeyError, IndexError) as error:
        raise _wrong(expression, f"{error} ({time_zone})") from error


def _times(field: str, field_text: str) -> str:
    return ",".join(_span(field, part) for part in field_text.split(","))


def _span(field: str, part: str) -> str:
    """Convert an element of a list: a value, a range or steps."""
    span, _, step = part.partition("/")
    if span == "*":
        return f"*/{step}" if step and field != "day_of_week" else _days(step) if step else "*"
    first, dash, last = span.partition("-")
    if field == "day_of_week":
        return _days(step, first, last if dash else first if not step else "7")
    if step and not dash:
        last, dash = str(_LAST[field]), "-"
    if not re.fullmatch(r"\w+", first) or (re.search(r"[WL]", first.upper()) and not first.isalpha()):
        raise ValueError(f"{part} is not understood")
    return f"{first.lower()}{dash}{last.lower()}{f'/{step}' if step else ''}"


def _days(step: str, first: str = "1", last: str = "7") -> str:
    """Convert days of the week to names, since Quartz and APScheduler number them differently."""
    begin, end = _day(first), _day(last)
    length = (end - begin) % 7 + 1
    return ",".join(_DAYS[(begin + day) % 7] for day in range(0, length, int(step or 1)))


def _day(field_text: str) -> int:
    if field_text.isdigit():
        if not 1 <= int(field_text) <= 7:
            raise ValueError(f"there is no day {field_text} of a week")
        return int(field_text) - 1
    return _DAYS.index(field_text.lower()[:3])


def _nth_weekday(field_text: str) -> str:
    day, _, number = field_text.partition("#")
    if number:
        return f"{_WHICH[int(number) - 1]} {_DAYS[_day(day)]}"
    return f"last {_DAYS[_day(field_text.removesuffix('L') or '7')]}"


def _wrong(expression: str, why: str) -> MillraceError:
    return MillraceError(
        f"the schedule {expression!r} can't be read: {why}", "Correct quartz_cron_expression in resources/"
    )
